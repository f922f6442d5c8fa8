/** Where the container sees what the host gives it. */
export const inContainer = {
  data: '/var/lib/registry',
  served: '/etc/bootwright-registry',
} as const;

/**
 * Settings of the registry (distribution), as JSON, which is YAML too. It listens on every address: other hosts may
 * be told to pull from it.
 */
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
      addr: `:${port}`,
      tls: { certificate: `${served}/tls.crt`, key: `${served}/tls.key` },
    },
    auth: { htpasswd: { realm: 'bootwright', path: `${served}/htpasswd` } },
  };
  return `${JSON.stringify(settings, undefined, 2)}\n`;
}
