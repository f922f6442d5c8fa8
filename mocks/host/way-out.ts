// The connection of a simulated host's programs to a server. If the host has a network of its own,
// the programs connect as the real ones do: by the proxies in their own environment, with curl,
// which reads the same variables.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import type { Call } from './call.ts';
import type { HostNetwork, Machine } from './machine.ts';

interface ServerRequest {
  readonly url: string;
  /** Further arguments of curl: the body, and the trusted certificates. */
  readonly words?: readonly string[];
}

/**
 * Sends a request in the network of a host and returns the answer.
 * @throws Error with curl's message if there is no answer, or one with a status from 400 on
 */
export async function askAs(
  { enter }: HostNetwork,
  { env, signal }: Pick<Call, 'env' | 'signal'>,
  { url, words = [] }: ServerRequest,
): Promise<Uint8Array> {
  const curl = ['curl', '--silent', '--show-error', '--max-time', '20', ...words, url];
  const [program = '', ...rest] = [...enter, ...curl];
  const child = spawn(program, rest, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [answer, said] = await Promise.all([buffer(child.stdout), text(child.stderr)]);
  const [exitCode] = await closed;
  if (exitCode !== 0) throw new Error(said.trim());
  return answer;
}

/**
 * The reason why a program cannot reach a registry, in the words of Go's programs; undefined if the
 * host has no network of its own. Certificates of registries are not checked.
 */
export async function cutOff(
  { network }: Machine,
  call: Call,
  image: string,
): Promise<string | undefined> {
  const registry = image.split('/')[0] ?? '';
  if (network === undefined || registry.startsWith('127.0.0.1:')) return undefined;
  const url = `https://${registry}/v2/`;
  try {
    await askAs(network, call, { url, words: ['--insecure'] });
    return undefined;
  } catch (error) {
    return `pinging container registry ${registry}: Get "${url}": ${String(error)}`;
  }
}
