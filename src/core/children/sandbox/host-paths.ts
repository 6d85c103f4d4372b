/** The paths of a host that a sandbox shows, masks or hides. */

/** Directories and files that every sandbox shows read-only. It does not show /var, /srv, /mnt, /run and other homes. */
export const SYSTEM = [
  '/usr',
  '/etc',
  '/opt',
  '/nix',
  '/gnu',
  '/run/current-system',
  '/run/systemd/resolve',
  '/mnt/wsl/resolv.conf',
  '/sys/devices/system',
  '/sys/fs/cgroup',
  '/var/lib/ca-certificates',
  '/var/lib/alternatives',
];

/** Links into /usr on most systems, directories on others. */
export const TOP_LEVEL = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Files below `SYSTEM` that only root can read: a server of root must not pass them on. */
export const SYSTEM_SECRETS = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/ssl/private',
  '/etc/ssh/ssh_host_rsa_key',
  '/etc/ssh/ssh_host_ecdsa_key',
  '/etc/ssh/ssh_host_ed25519_key',
  '/etc/krb5.keytab',
  '/etc/wireguard',
  '/etc/NetworkManager/system-connections',
  '/etc/docker',
  '/etc/kubernetes',
  '/etc/rancher',
];

/** Files of /proc that the kernel lets root write without any capability. Container engines mount them read-only too. */
export const PROC_READ_ONLY = [
  '/proc/sys',
  '/proc/sysrq-trigger',
  '/proc/irq',
  '/proc/bus',
  '/proc/fs',
];
export const PROC_HIDDEN = [
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/timer_list',
  '/proc/scsi',
  '/proc/kallsyms',
  '/proc/kmsg',
];

/** Settings in the home directory that are shown read-only. Without them, a commit has no author. */
export const HOME_READABLE = [
  '.gitconfig',
  '.config/git',
  '.gitignore',
  '.tool-versions',
  '.config/mise',
  '.nvmrc',
  '.local/bin',
  '.local/lib',
];

/** Secrets in the home directory, which are hidden where the configuration shows a directory above them. */
export const HOME_SECRETS = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.config/gcloud',
  '.config/gh',
  '.config/hub',
  '.config/op',
  '.config/rclone',
  '.config/containers',
  '.config/cadre',
  '.netrc',
  '.git-credentials',
  '.config/git/credentials',
  '.npmrc',
  '.yarnrc.yml',
  '.pypirc',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.gem/credentials',
  '.m2/settings.xml',
  '.gradle/gradle.properties',
  '.terraform.d',
  '.terraformrc',
  '.vault-token',
  '.pgpass',
  '.my.cnf',
  '.password-store',
  '.local/share/keyrings',
  '.mozilla',
  '.thunderbird',
  '.config/google-chrome',
  '.config/chromium',
  '.bash_history',
  '.zsh_history',
  '.local/share/fish/fish_history',
  '.node_repl_history',
  '.python_history',
  '.psql_history',
];

/** Directories that no sandbox has as its working directory, and none above them. */
export const NEVER_WORKED_IN = [
  '/etc',
  '/usr',
  '/boot',
  '/proc',
  '/sys',
  '/dev',
  '/run',
  '/var/run',
];

/** Variables that lead to sockets and programs outside of the sandbox. */
export const UNSET = [
  'SSH_AUTH_SOCK',
  'SSH_AGENT_PID',
  'GPG_AGENT_INFO',
  'DBUS_SESSION_BUS_ADDRESS',
  'XDG_RUNTIME_DIR',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
  'WSL_INTEROP',
  'DOCKER_HOST',
];
