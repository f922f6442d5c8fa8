import type { Config } from '../../config/schema.ts';
import { asAgentError } from '../../engine/failures.ts';
import { minutes } from '../../model/duration.ts';
import { proxyEnv } from '../host-commands.ts';
import { step } from '../step.ts';
import { hasLogTaker } from './conditions.ts';
import { senderArgv, tokenVariable } from './sender-argv.ts';

/** Long enough to pull the image and to send what a host has logged; the host waits to reboot. */
const longestUpload = minutes(15);

/** Uploads the logs of the host before they are gone. Without them the install is as good. */
export const upload = step({
  id: 'logs/upload',
  title: 'Upload the logs of this host',
  uses: ['host'],
  when: hasLogTaker,
  limit: longestUpload + minutes(1),
  preview: (config) => [senderArgv(config)],
  run: async ({ host, config, signal, note }) => {
    try {
      await host.exec(senderArgv(config), {
        signal,
        limit: longestUpload,
        env: { ...proxyEnv(config.proxy), ...tokenEnv(config) },
      });
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      note('warn', 'the logs could not be uploaded', { code, reason: message });
    }
  },
});

const tokenEnv = ({ service: { token } }: Config): Readonly<Record<string, string>> =>
  token === undefined || token.isEmpty ? {} : { [tokenVariable]: token.reveal() };
