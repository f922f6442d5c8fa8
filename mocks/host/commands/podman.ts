import { absent, fail, type Call, type Program, type Programs } from '../call.ts';
import { building } from './building.ts';
import { imageOfRelease, registryContainer } from './own-registry.ts';
import { runOnceFrom } from './machine-config-daemon.ts';

const DAEMON = '/usr/bin/machine-config-daemon';

/** `podman run …` of one of the programs that the agent runs in containers. */
const podman: Program = async (machine, call) => {
  if (call.argv[1] === 'run' && call.argv.includes(DAEMON)) return runOnceFrom(machine, call);
  const known =
    versionOf(call) ??
    (await registryContainer(machine, call)) ??
    (await imageOfRelease(machine, call));
  if (known !== undefined) return known;
  const builds = building(call);
  if (builds !== undefined) return builds(machine);
  const at = call.argv.indexOf('logs_sender');
  return at === -1
    ? fail(call, 'Error: only logs_sender and machine-config-daemon can be run in the lab', 125)
    : sendLogs(call, at);
};

function versionOf(call: Call): number | undefined {
  if (call.argv[1] !== '--version') return undefined;
  call.out('podman version 5.4.0\n');
  return 0;
}

/** `podman run … IMAGE logs_sender …`: sends logs to the inventory service as the real one does. */
async function sendLogs(call: Call, at: number): Promise<number> {
  const options = goFlags(call.argv.slice(at + 1));
  const token = options.get('pull-secret-token') ?? call.env['PULL_SECRET_TOKEN'] ?? '';
  const base = `${options.get('url') ?? ''}/api/assisted-install/v2`;
  const [cluster = '', host = '', infraEnv = ''] = ['cluster-id', 'host-id', 'infra-env-id'].map(
    (name) => options.get(name) ?? '',
  );
  const sender = { call, token };
  const progress = `${base}/infra-envs/${infraEnv}/hosts/${host}/logs-progress`;
  const upload = `${base}/clusters/${cluster}/logs?logs_type=host&host_id=${host}&infra_env_id=${infraEnv}`;
  const logs = new FormData();
  logs.set('upfile', new Blob(['logs of a simulated host\n']), 'logs.tar.gz');
  const isSent =
    (await send(sender, 'PUT', { url: progress, body: state('requested') })) &&
    (await send(sender, 'PUT', { url: progress, body: state('collecting') })) &&
    (await send(sender, 'POST', { url: upload, body: logs })) &&
    (await send(sender, 'PUT', { url: progress, body: state('completed') }));
  return isSent ? 0 : fail(call, 'failed to send logs');
}

const state = (logsState: string): string => JSON.stringify({ logs_state: logsState });

/** Go's flags: `-name value`, `-name=value`, with one hyphen or two. */
function goFlags(words: readonly string[]): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (let at = 0; at < words.length; at += 1) {
    const [, name = '', value] = /^--?([^=]+)(?:=(.*))?$/s.exec(words[at] ?? '') ?? [];
    flags.set(name, value ?? words[(at += 1)] ?? '');
  }
  return flags;
}

async function send(
  { call, token }: { readonly call: Call; readonly token: string },
  method: string,
  { url, body }: { readonly url: string; readonly body: string | FormData },
): Promise<boolean> {
  try {
    const answer = await fetch(url, {
      method,
      headers: {
        'x-secret-key': token,
        ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
      },
      body,
      signal: call.signal,
    });
    if (!answer.ok) call.err(`${method} ${url}: status ${answer.status}\n`);
    return answer.ok;
  } catch (error) {
    call.err(`${method} ${url}: ${String(error)}\n`);
    return false;
  }
}

/** The container engine of the host; a live system of CoreOS has no buildah. */
export const containerPrograms: Programs = { podman, buildah: absent };
