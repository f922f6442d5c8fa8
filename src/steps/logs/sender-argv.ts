import type { Config } from '../../config/schema.ts';

/** The variable from which podman and logs_sender take the token. */
export const tokenVariable = 'PULL_SECRET_TOKEN';

const journalSocket = '/run/systemd/journal/socket';

/**
 * The container that gathers the logs of the host and uploads them. The token is not among its
 * words: podman hands the variable on by its name, and logs_sender reads it when there is no
 * `-pull-secret-token` (assisted-installer-agent, `src/config/logs_sender_config.go`).
 */
export function senderArgv({ role, cluster, service, images }: Config): readonly string[] {
  const { id, infraEnvId, hostId, controlPlaneCount } = cluster;
  const { api, url, insecure, caFile } = service;
  const isBootstrap = role === 'bootstrap' || controlPlaneCount === 1;
  return [
    'podman',
    'run',
    '--rm',
    '--privileged',
    '--net=host',
    '--pid=host',
    `--env=${tokenVariable}`,
    '-v',
    `${journalSocket}:${journalSocket}`,
    '-v',
    '/var/log:/var/log',
    ...(caFile === '' ? [] : ['-v', `${caFile}:${caFile}`]),
    images.agent,
    'logs_sender',
    '-cluster-id',
    id,
    '-url',
    url,
    '-host-id',
    hostId,
    // Version 1 of the service knows no infra-envs, and its logs_sender has no such flag.
    ...(api === 'v2' ? ['-infra-env-id', infraEnvId === '' ? id : infraEnvId] : []),
    `-insecure=${String(insecure)}`,
    `-bootstrap=${String(isBootstrap)}`,
    ...(caFile === '' ? [] : [`-cacert=${caFile}`]),
  ];
}
