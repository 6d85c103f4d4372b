/** A host that a sandbox reaches: `example.com`, `*.example.com` or `*`, with `:PORT` for another port than 80 or 443. */
export const HOST_PATTERN = /^(\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?)(:[1-9]\d{0,4})?$/i;

export const HOST_MESSAGE =
  'has to be a host, such as example.com, *.example.com or localhost:8080';
