/** Where the container sees what the host gives it. */
export const inContainer = {
  data: '/var/lib/registry',
  served: '/etc/bootwright-registry',
} as const;

/**
 * Where the registry is reached. Nodes pull from the lasting registry and from nowhere else, so that no other host
 * needs a way to this one, nor a hole in its firewall.
 */
export const stagingAddress = (port: number): string => `127.0.0.1:${port}`;

/** Settings of the registry (distribution), as JSON, which is YAML too. */
export function registrySettings({
  port,
  data = inContainer.data,
  served = inContainer.served,
}: {
  readonly port: number;
  /** Folders as the registry sees them, unless it runs in its container. */
  readonly data?: string;
  readonly served?: string;
}): string {
  const settings = {
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: data } },
    http: {
      addr: stagingAddress(port),
      tls: { certificate: `${served}/tls.crt`, key: `${served}/tls.key` },
    },
    auth: { htpasswd: { realm: 'bootwright', path: `${served}/htpasswd` } },
  };
  return `${JSON.stringify(settings, undefined, 2)}\n`;
}
