// rpm-ostree. It switches a host that was started from its disk to another image; in a live system
// it prints and changes the kernel arguments of a stateroot. It keeps no rollback deployment: the
// Machine Config Daemon removes it at each boot.
import { existsSync } from 'node:fs';
import { absent, type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { pullImage } from '../image-access.ts';
import { digestOfText } from '../images.ts';
import { changeKargs } from '../kernel-arguments.ts';
import type { Machine, RunningSystem } from '../machine.ts';

/** A call on a host that was started from its disk. */
interface NodeCall {
  readonly machine: Machine;
  readonly running: RunningSystem;
  readonly call: Call;
}

const SCHEME = 'ostree-unverified-registry:';

/** The argument by which the kernel finds the root of a deployment. */
export const rootArgument = (image: string): string =>
  `ostree=/ostree/boot.1/rhcos/${checksumOf(image)}/0`;

/** Checksum of the commit of an imported image. */
export const checksumOf = (image: string): string => digestOfText(image).replace('sha256:', '');

function version({ call }: NodeCall): number {
  return print(call, "rpm-ostree:\n Version: '2024.7'\n Git: 0000000\n");
}

/** The next deployment is first. */
function status({ machine, running: { booted, staged }, call }: NodeCall): number {
  if (!call.argv.includes('--json')) return fail(call, 'error: only --json is in the lab');
  const deployments = [
    ...(staged === undefined ? [] : [deployment(machine, staged.image, { staged: true })]),
    deployment(machine, booted, { booted: true }),
  ];
  const none = { transaction: null, 'cached-update': null, 'update-driver': null };
  return print(call, `${JSON.stringify({ deployments, ...none }, null, 2)}\n`);
}

const deployment = ({ images }: Machine, image: string, state: object): object => ({
  id: `rhcos-${checksumOf(image)}.0`,
  osname: 'rhcos',
  serial: 0,
  checksum: checksumOf(image),
  booted: false,
  staged: false,
  pinned: false,
  'container-image-reference': `${SCHEME}${image}`,
  'container-image-reference-digest':
    /@(sha256:.+)$/.exec(image)?.[1] ??
    images.inRegistries.get(image)?.digest ??
    digestOfText(image),
  ...state,
});

function cleanup({ running, call }: NodeCall): number {
  if (sortWords(call.argv.slice(2)).has('--pending', '-p')) running.staged = undefined;
  return 0;
}

function rebase({ machine, running, call }: NodeCall): number {
  const { has, rest } = sortWords(call.argv.slice(2));
  const [reference = ''] = rest;
  if (!has('--experimental') || !reference.startsWith(SCHEME)) {
    return fail(call, `error: only --experimental ${SCHEME}IMAGE is in the lab`);
  }
  const image = reference.slice(SCHEME.length);
  if (image === (running.staged?.image ?? running.booted)) {
    return fail(call, `error: Old and new refs are equal: ${reference}`);
  }
  const found = pullImage(machine, { image, authFile: authFileOf(machine) });
  if (typeof found === 'string') {
    return fail(call, `error: Creating importer: failed to invoke method OpenImage: ${found}`);
  }
  const { kernelArguments } = running.staged ?? running;
  running.staged = { image, kernelArguments };
  call.out(`Pulling manifest: ${reference}\nImporting: ${reference} (digest: ${found.digest})\n`);
  return print(call, 'Staging deployment... done\nChanges queued for next boot.\n');
}

/**
 * Kernel arguments belong to a deployment: a change makes another deployment of the same image. A
 * call without changes prints them.
 */
function changeArguments({ running, call }: NodeCall): number {
  const words = call.argv.slice(2);
  const booted = { image: running.booted, kernelArguments: running.kernelArguments };
  const deployments = [running.staged, booted].filter((one) => one !== undefined);
  const [index] = sortWords(words).all('--deploy-index');
  const at = deployments[Number(index ?? 0)];
  if (at === undefined) return fail(call, `error: Out of range deployment index ${index}`);
  if (!changes(words)) {
    return print(call, `${[...at.kernelArguments, rootArgument(at.image)].join(' ')}\n`);
  }
  const changed = changeKargs(at.kernelArguments, words);
  if ('error' in changed) return fail(call, changed.error);
  if (changed.list.join(' ') === at.kernelArguments.join(' ')) {
    return print(call, 'No changes.\n');
  }
  running.staged = { image: at.image, kernelArguments: changed.list };
  return print(call, 'Staging deployment... done\nChanges queued for next boot.\n');
}

const changes = (words: readonly string[]): boolean =>
  words.some((word) => /^--(append|delete)/.test(word));

/** Paths at which ostree searches for pull secrets, in its order. */
const authFiles = ['/run/ostree/auth.json', '/etc/ostree/auth.json', '/usr/lib/ostree/auth.json'];

function authFileOf({ files }: Machine): string | undefined {
  for (const path of authFiles) {
    if (existsSync(files.real(path))) return path;
  }
  return undefined;
}

const verbs: Readonly<Record<string, (of: NodeCall) => number | Promise<number>>> = {
  '--version': version,
  status,
  cleanup,
  rebase,
  kargs: changeArguments,
};

const rpmOstree: Program = (machine, call) => {
  const { running } = machine;
  if (running === undefined) return kargs(machine, call);
  const [, verb = ''] = call.argv;
  const run = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (run !== undefined) return run({ machine, running, call });
  machine.unknown.push(call.argv.join(' '));
  return fail(call, `error: Unknown command '${verb}'`);
};

/** `rpm-ostree kargs --os NAME` prints the kernel arguments of a stateroot, or changes them. */
const kargs: Program = ({ deployments }, call) => {
  const words = call.argv.slice(2);
  const [stateroot = ''] = sortWords(words, ['--os']).all('--os');
  const deployed = deployments.get(stateroot);
  if (deployed === undefined) return fail(call, `error: No deployments found for ${stateroot}`);
  if (!changes(words)) {
    return print(call, `${deployed.kernelArguments.join(' ')}\n`);
  }
  const changed = changeKargs(deployed.kernelArguments, words);
  if ('error' in changed) return fail(call, changed.error);
  deployed.kernelArguments = changed.list;
  deployed.isFinal = false;
  return 0;
};

/** Programs that switch a running host to another image; these hosts were not booted by bootc. */
export const movingPrograms: Programs = { 'rpm-ostree': rpmOstree, bootc: absent };
