import { readFileSync, writeFileSync } from 'node:fs';
import type { HeldImage } from '../../registries/network.ts';
import {
  absent,
  type Call,
  fail,
  print,
  type Program,
  type Programs,
  sortWords,
  type Words,
} from '../call.ts';
import { failImage, pullImage, pushImage } from '../image-access.ts';
import { digestOfText } from '../images.ts';
import type { HostNetwork, Machine } from '../machine.ts';
import { askAs, cutOff } from '../way-out.ts';
import { runOnceFrom } from './machine-config-daemon.ts';

const DAEMON = '/usr/bin/machine-config-daemon';

/** `podman run …` for the programs that the agent runs in containers. */
const podman: Program = async (machine, call) => {
  const image = call.argv[1] === 'run' ? call.argv.find((word) => isImage.test(word)) : undefined;
  const refused = image && (await cutOff(machine, call, image));
  if (refused) return fail(call, `Error: initializing source docker://${image}: ${refused}`, 125);
  if (call.argv[1] === 'run' && call.argv.includes(DAEMON)) return runOnceFrom(machine, call);
  const known =
    versionOf(call) ?? registryContainer(machine, call) ?? imageOfRelease(machine, call);
  if (known !== undefined) return known;
  const builds = building(call);
  if (builds !== undefined) return builds(machine);
  const at = call.argv.indexOf('logs_sender');
  return at === -1
    ? fail(call, 'Error: only logs_sender and machine-config-daemon can be run in the lab', 125)
    : sendLogs(machine, call, at);
};

/** Matches a pull spec with a registry; no path and no option matches. */
const isImage = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?\/[^:@]+[:@]/;

function versionOf(call: Call): number | undefined {
  if (call.argv[1] !== '--version') return undefined;
  return print(call, 'podman version 5.4.0\n');
}

/** `podman run … IMAGE logs_sender …`: sends logs to the inventory service like the real one. */
async function sendLogs({ network }: Machine, call: Call, at: number): Promise<number> {
  const options = goFlags(call.argv.slice(at + 1));
  const token = options.get('pull-secret-token') ?? call.env['PULL_SECRET_TOKEN'] ?? '';
  const base = `${options.get('url') ?? ''}/api/assisted-install/v2`;
  const [cluster = '', host = '', infraEnv = ''] = ['cluster-id', 'host-id', 'infra-env-id'].map(
    (name) => options.get(name) ?? '',
  );
  const sender = { call, token, network, ca: options.get('cacert') };
  const progress = `${base}/infra-envs/${infraEnv}/hosts/${host}/logs-progress`;
  const upload = `${base}/clusters/${cluster}/logs?logs_type=host&host_id=${host}&infra_env_id=${infraEnv}`;
  const logs = new FormData();
  logs.set('upfile', new Blob([logsText]), 'logs.tar.gz');
  const isSent =
    (await send(sender, 'PUT', { url: progress, body: state('requested') })) &&
    (await send(sender, 'PUT', { url: progress, body: state('collecting') })) &&
    (await send(sender, 'POST', { url: upload, body: logs })) &&
    (await send(sender, 'PUT', { url: progress, body: state('completed') }));
  return isSent ? 0 : fail(call, 'failed to send logs');
}

const logsText = 'logs of a simulated host\n';

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

interface LogSender {
  readonly call: Call;
  readonly token: string;
  readonly network: HostNetwork | undefined;
  /** File with the certificates that it trusts. */
  readonly ca: string | undefined;
}

async function send(
  { call, token, network, ca }: LogSender,
  method: string,
  { url, body }: { readonly url: string; readonly body: string | FormData },
): Promise<boolean> {
  try {
    if (network !== undefined) {
      const sent =
        typeof body === 'string'
          ? ['--header', 'Content-Type: application/json', '--data', body]
          : ['--form', `upfile=${logsText};filename=logs.tar.gz`];
      const trust = ca === undefined ? [] : ['--cacert', ca];
      const words = ['--fail', '--request', method, '--header', `X-Secret-Key: ${token}`];
      await askAs(network, call, { url, words: [...words, ...sent, ...trust] });
      return true;
    }
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

// `podman` and `buildah`, which build and push images: a result has the labels of its
// Containerfile, and a digest that follows from the base in the Containerfile, or from its
// MachineConfig.

const buildOptions = [
  ...['--root', '--runroot', '--storage-driver', '--format', '--network', '--security-opt'],
  ...['--authfile', '--cert-dir', '--signature-policy', '--build-arg', '--volume', '--tag'],
  ...['--file', '--digestfile', '--label'],
];

type Verb = (machine: Machine, call: Call, words: Words) => number | Promise<number>;

const verbs: Readonly<Record<string, Verb>> = { build, push, rmi: () => 0 };

/** The build function of a verb; undefined for another verb. */
function building(call: Call): ((machine: Machine) => number | Promise<number>) | undefined {
  const words = sortWords(call.argv.slice(1), buildOptions);
  const run = verbs[words.rest[0] ?? ''];
  return run === undefined ? undefined : (machine) => run(machine, call, words);
}

function build(machine: Machine, call: Call, words: Words): number {
  const { images, files } = machine;
  const [path = ''] = words.all('--file');
  const [tag = ''] = words.all('--tag');
  const text = readFileSync(files.real(path), 'utf8');
  const base = /^FROM (\S+)/m.exec(text)?.[1] ?? '';
  if (text.includes('bootwright-saw')) return inspectBuild(machine, call, base);
  if (images.buildError !== undefined) return fail(call, images.buildError, 125);
  const [authFile] = words.all('--authfile');
  const settings = call.env['CONTAINERS_REGISTRIES_CONF'];
  const found = pullImage(machine, { image: base, authFile, settings });
  if (typeof found === 'string') {
    return fail(call, `Error: creating build container: ${base}: ${found}`, 125);
  }
  images.inStore.set(base, found);
  const given = words.all('--label').map((label) => `LABEL ${label}`);
  const labels = Object.fromEntries(
    [...[text, ...given].join('\n').matchAll(/^LABEL (\S+?)=(\S+)$/gm)].map(
      ([, key = '', value = '']) => [key, value] as const,
    ),
  );
  const isLeftOut = /^ +rm .*\/currentconfig\b/m.test(text);
  images.inStore.set(tag, {
    digest: digestOfText(labels['bootwright.built-from'] ?? labels['machineconfig'] ?? text),
    labels: { ...found.labels, ...labels },
    ...(isLeftOut ? {} : { currentConfig: labels['machineconfig'] }),
  });
  return print(call, `STEP 1/2: FROM ${base}\nSTEP 2/2: COMMIT ${tag}\n`);
}

/** The build that only prints the content of an image. */
function inspectBuild({ images }: Machine, call: Call, base: string): number {
  const config = images.inStore.get(base)?.currentConfig;
  const configs = config === undefined ? [] : [`config ${config}`];
  const saw = ['kernel 5.14.0-570.el9.x86_64', ...configs, 'end'];
  return print(call, saw.map((line) => `bootwright-saw ${line}\n`).join(''));
}

function push(machine: Machine, call: Call, words: Words): number {
  const { images, files } = machine;
  const [, tag = '', to = ''] = words.rest;
  const image = images.inStore.get(tag);
  if (image === undefined) return fail(call, `Error: ${tag}: image not known`, 125);
  const [authFile] = words.all('--authfile');
  const target = { image: to.replace('docker://', ''), authFile };
  const refusal = pushImage(machine, target, image);
  if (refusal !== undefined) return fail(call, `Error: ${refusal}`, 125);
  const [digestFile] = words.all('--digestfile');
  if (digestFile !== undefined) writeFileSync(files.real(digestFile), image.digest);
  return 0;
}

const skopeoOptions = [
  ...['--src-authfile', '--dest-authfile', '--authfile', '--format', '--digestfile'],
  ...['--src-cert-dir', '--dest-cert-dir', '--cert-dir'],
];

/** `docker://NAME`, or `containers-storage:[…]NAME`. */
function find(
  machine: Machine,
  reference: string,
  authFile: string | undefined,
): HeldImage | string {
  const [, image] = /^docker:\/\/(.*)$/.exec(reference) ?? [];
  if (image !== undefined) return pullImage(machine, { image, authFile });
  const name = reference.replace(/^containers-storage:(?:\[[^\]]*\])?/, '');
  return machine.images.inStore.get(name) ?? `reading manifest ${reference}: manifest unknown`;
}

const skopeo: Program = async (machine, call) => {
  const words = sortWords(call.argv.slice(2), skopeoOptions);
  const [from = '', to = ''] = words.rest;
  const [authFile] = words.all('--src-authfile', '--authfile');
  const [, remote] = /^docker:\/\/(.*)$/.exec(from) ?? [];
  const refused = remote && (await cutOff(machine, call, remote));
  if (refused) return failImage(call, refused);
  const image = find(machine, from, authFile);
  if (typeof image === 'string') return failImage(call, image);
  if (call.argv[1] === 'copy') {
    const [destAuthFile] = words.all('--dest-authfile');
    const target = { image: to.replace('docker://', ''), authFile: destAuthFile };
    const refusal = pushImage(machine, target, image);
    return refusal === undefined ? 0 : failImage(call, refusal);
  }
  if (words.has('--raw')) call.out('{"schemaVersion":2,"layers":[]}\n');
  else if (words.has('--config')) {
    call.out(`${JSON.stringify({ architecture: 'amd64', config: { Labels: image.labels } })}\n`);
  } else if (words.has('--format')) call.out(`${image.digest}\n`);
  else call.out(`${JSON.stringify(inspected(image))}\n`);
  return 0;
};

/** The default output of `skopeo inspect`; every image is one layer of a mebibyte. */
function inspected({ digest, labels }: HeldImage): object {
  const layer = digestOfText(`layer of ${digest}`);
  return {
    Digest: digest,
    RepoTags: [],
    Labels: labels,
    Architecture: 'amd64',
    Os: 'linux',
    Layers: [layer],
    LayersData: [{ Digest: layer, Size: 2 ** 20 }],
  };
}

// The prerequisites of a host's own registry: certificates, room, and the container.

const CONTAINER = 'bootwright-registry';

/**
 * `podman run --name bootwright-registry …`, and its `start` and `rm`; undefined for another
 * container.
 */
export function registryContainer(machine: Machine, call: Call): number | undefined {
  if (!call.argv.includes(CONTAINER)) return undefined;
  const refused = call.argv[1] === 'run' ? pullFor(machine, call, 'serve') : undefined;
  if (refused !== undefined) return refused;
  machine.images.isServing = call.argv[1] !== 'rm';
  return 0;
}

/** `podman run … RELEASE image NAME`: the release prints the pull spec of one of its images. */
export function imageOfRelease(machine: Machine, call: Call): number | undefined {
  const [verb, name] = call.argv.slice(-2);
  if (call.argv[1] !== 'run' || verb !== 'image') return undefined;
  const refused = pullFor(machine, call, 'image');
  if (refused !== undefined) return refused;
  return print(call, `${inRelease(name ?? '')}\n`);
}

/** The pull spec of an image in the lab's release. */
export const inRelease = (name: string): string =>
  `quay.example.test/release/${name}@sha256:${'d'.repeat(64)}`;

/** Pulls the image of a container, the word before the first argument of its program. */
function pullFor(machine: Machine, call: Call, word: string): number | undefined {
  if (machine.images.network === undefined) return undefined;
  const image = call.argv[call.argv.lastIndexOf(word) - 1] ?? '';
  const [authFile] = sortWords(call.argv.slice(2), ['--authfile']).all('--authfile');
  const found = pullImage(machine, { image, authFile });
  return typeof found === 'string' ? fail(call, `Error: ${image}: ${found}`, 125) : undefined;
}

/** Answers for the registry of the host: it accepts every client with credentials. */
const curl: Program = ({ images }, call) => {
  const hasCredentials = sortWords(call.argv.slice(1)).has('--config');
  if (!images.isServing) {
    call.out('000');
    return 7;
  }
  return print(call, hasCredentials ? '200' : '401');
};

/** Creates the requested files, with the verb as their content. */
const openssl: Program = ({ files }, call) => {
  const words = sortWords(call.argv.slice(1), ['-out', '-keyout']);
  const made = words.all('-out', '-keyout');
  if (made.length === 0) return fail(call, 'openssl: nothing to make');
  for (const path of made) writeFileSync(files.real(path), `${call.argv[1] ?? ''}\n`);
  return 0;
};

const df: Program = (_machine, call) => print(call, `Avail\n${100 * 2 ** 30}\n`);

/** Programs of images and registries; a live system of CoreOS has no buildah. */
export const containerPrograms: Programs = { podman, buildah: absent, skopeo, curl, openssl, df };
