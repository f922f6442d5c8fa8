import * as z from 'zod';
import type { Config } from '../../config/schema.ts';
import { fact } from '../../engine/fact.ts';
import { noteFailed } from '../../engine/failures.ts';
import { minutes } from '../../model/duration.ts';
import { knowsHost } from '../conditions.ts';
import { step } from '../step.ts';

/** Announces logs of this host to the service. A service that does not answer delays nothing. */
export const announceLogs = step({
  id: 'logs/announce',
  title: 'Announce the logs of this host',
  uses: ['inventory'],
  when: knowsHost,
  limit: minutes(15),
  run: async ({ inventory, config, signal, note }) => {
    const { id, infraEnvId, hostId } = config.cluster;
    const host = { infraEnvId: infraEnvId === '' ? id : infraEnvId, hostId };
    try {
      await inventory.logsState(host, 'requested', signal);
    } catch (error) {
      noteFailed({ signal, note }, 'the logs could not be announced', error);
    }
  },
});

/** Long enough to pull the image and to send the logs of a host; the host waits with its reboot. */
const longestUpload = minutes(15);

/** Whether the service has the logs of this host. */
export const LogUpload = fact('logs.upload', z.object({ isTaken: z.boolean() }));

/**
 * Uploads the logs of the host before its reboot, with an image that contains logs_sender, if one
 * is configured. The installation is complete without them, too.
 */
export const uploadLogs = step({
  id: 'logs/upload',
  title: 'Upload the logs of this host',
  uses: ['host'],
  gives: LogUpload,
  when: knowsHost,
  limit: longestUpload + minutes(1),
  preview: (config) => (config.images.agent === '' ? [] : [senderArgv(config)]),
  run: async ({ host, config, signal, note }) => {
    // Then the service does not wait for logs, and none remain.
    if (config.images.agent === '') return { isTaken: true };
    try {
      await host.exec(senderArgv(config), {
        signal,
        limit: longestUpload,
        env: tokenEnv(config),
      });
      return { isTaken: true };
    } catch (error) {
      noteFailed({ signal, note }, 'the logs could not be uploaded', error);
      return { isTaken: false };
    }
  },
});

const tokenEnv = ({ service: { token } }: Config): Readonly<Record<string, string>> =>
  token === undefined || token.isEmpty ? {} : { [tokenVariable]: token.reveal() };

/** The variable with the token for podman and logs_sender. */
const tokenVariable = 'PULL_SECRET_TOKEN';

const journalSocket = '/run/systemd/journal/socket';

/**
 * The container that gathers the logs of the host and uploads them. The token is not in its
 * arguments: podman passes the variable by its name, and logs_sender reads it if
 * `-pull-secret-token` is missing (assisted-installer-agent, `src/config/logs_sender_config.go`).
 */
export function senderArgv({ role, cluster, service, images }: Config): readonly string[] {
  const { id, infraEnvId, hostId, controlPlaneCount } = cluster;
  const { api, url, insecure, caFile } = service;
  const isBootstrap = role === 'bootstrap' || controlPlaneCount === 1;
  return [
    ...['podman', 'run', '--rm', '--privileged', '--net=host', '--pid=host'],
    ...[`--env=${tokenVariable}`, '-v', `${journalSocket}:${journalSocket}`],
    ...['-v', '/var/log:/var/log'],
    ...(caFile === '' ? [] : ['-v', `${caFile}:${caFile}`]),
    ...[images.agent, 'logs_sender', '-cluster-id', id, '-url', String(url), '-host-id', hostId],
    // Version 1 of the service knows no infra-envs, and its logs_sender has no such flag.
    ...(api === 'v2' ? ['-infra-env-id', infraEnvId === '' ? id : infraEnvId] : []),
    `-insecure=${String(insecure)}`,
    `-bootstrap=${String(isBootstrap)}`,
    ...(caFile === '' ? [] : [`-cacert=${caFile}`]),
  ];
}
