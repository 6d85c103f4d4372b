/** A host that a sandbox reaches: `example.com`, `*.example.com`, `[::1]` or `*`, with `:PORT` for another port than 80 or 443. */
export const HOST_PATTERN =
  /^(\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]*:[0-9a-f:.]*\])(:[1-9]\d{0,4})?$/i;

export const HOST_MESSAGE =
  'has to be a host, such as example.com, *.example.com, localhost:8080 or [::1]:8080';
