import * as z from 'zod';
import { jsonIn } from '../lib/json.ts';
import { osFailure } from './failures.ts';
import { changedArguments, isSameList, type KernelArgumentChange } from './kernel-arguments.ts';
import { type OsDeployment, type OsStatus, readOrigin, renderOrigin } from './status.ts';

// rpm-ostree, at home on CoreOS; what the Machine Config Operator uses too. Its commands, and what
// it answers; recorded in test/support/os-recorded.

/** `rpm-ostree status --json`; the deployments stand in the order of the boot loader. */
const RpmOstreeStatus = z.object({
  deployments: z.array(
    z.object({
      osname: z.string().optional(),
      serial: z.number().optional(),
      checksum: z.string(),
      'base-checksum': z.string().optional(),
      version: z.string().nullish(),
      booted: z.boolean().default(false),
      staged: z.boolean().default(false),
      'finalization-locked': z.boolean().nullish(),
      pinned: z.boolean().default(false),
      'container-image-reference': z.string().nullish(),
      'container-image-reference-digest': z.string().nullish(),
    }),
  ),
  transaction: z.unknown(),
});
type Deployment = z.infer<typeof RpmOstreeStatus>['deployments'][number];

/** Asks the daemon, which answers while another transaction runs. */
export const rpmOstreeStatusArgv = ['rpm-ostree', 'status', '--json'] as const;

/**
 * Prints the kernel arguments of what boots next, of the deployment at a place, or of a stateroot.
 */
export const rpmOstreeArgumentsArgv = (of: number | { readonly stateroot: string } = 0) => [
  ...['rpm-ostree', 'kargs'],
  ...(typeof of === 'object' ? [`--os=${of.stateroot}`] : of === 0 ? [] : [`--deploy-index=${of}`]),
];

/**
 * Changes kernel arguments: one call takes out what goes and appends what comes, as the Machine
 * Config Daemon does. What is not there is not named: rpm-ostree deletes after it has appended, the
 * first that is equal. Undefined where nothing is to be changed.
 */
export function rpmOstreeChangeArgv(
  present: readonly string[],
  change: KernelArgumentChange,
  of?: Parameters<typeof rpmOstreeArgumentsArgv>[0],
): readonly string[] | undefined {
  const { gone, all } = changedArguments(present, change);
  if (isSameList(all, present)) return undefined;
  return [
    ...rpmOstreeArgumentsArgv(of),
    ...gone.map((argument) => `--delete-if-present=${argument}`),
    ...change.append.map((argument) => `--append=${argument}`),
  ];
}

/**
 * Has an image staged. A rebase to the name that is followed already is refused: "Old and new refs
 * are equal". As the Machine Config Daemon does; older releases refuse an image without
 * `--experimental`.
 */
export const rpmOstreeStageArgv = (
  kind: 'switch' | 'upgrade',
  { image, verification }: { readonly image: string; readonly verification: 'none' | 'policy' },
): readonly string[] =>
  kind === 'upgrade'
    ? ['rpm-ostree', 'upgrade']
    : ['rpm-ostree', 'rebase', '--experimental', renderOrigin(image, verification)];

/** Puts what ran before first; where something else than what runs is first, what runs. */
export const rpmOstreeRollbackArgv = ['rpm-ostree', 'rollback'] as const;

/**
 * Has the host boot next what runs. `cleanup --pending` would delete a queued rollback, the way
 * back.
 */
export const rpmOstreeDropArgv = ({ staged, pending }: OsStatus): readonly string[] =>
  staged === undefined && pending !== undefined
    ? rpmOstreeRollbackArgv
    : ['rpm-ostree', 'cleanup', '--pending'];

/**
 * Deployments and images that nothing leads to go with each change; this removes what a stopped one
 * left. `--rollback` is never given: the way back stays until there is another.
 */
export const rpmOstreeCleanArgv = ['rpm-ostree', 'cleanup', '--base'] as const;

/** Ends what the daemon does for a client that went away. */
export const rpmOstreeCancelArgv = ['rpm-ostree', 'cancel'] as const;

/**
 * Reads `rpm-ostree status --json`, in the order of the boot loader (ostree,
 * `ostree_sysroot_get_deployments`): staged, then what was put before the booted one, the booted
 * one, and what a rollback leads to: the first after it in the same stateroot.
 * @throws AgentError `os.status-not-read`
 */
export function readRpmOstreeStatus(stdout: string): OsStatus {
  const parsed = RpmOstreeStatus.safeParse(jsonIn(stdout));
  if (!parsed.success) {
    throw osFailure('os.status-not-read', 'the output of rpm-ostree status is not understood', {
      cause: parsed.error,
    });
  }
  const { deployments, transaction } = parsed.data;
  const all = deployments.map((one, index) => ({ ...deploymentOf(one), index }));
  const at = deployments.findIndex(({ booted }) => booted);
  const booted = all[at];
  const staged = all.find(({ index }) => deployments[index]?.staged === true);
  const rest = all.filter((one) => one !== staged);
  // Whatever is first boots next, also when it is of another stateroot.
  const pending = rest.find(({ index }) => index < at);
  const rollback = rest.find(
    ({ index, stateroot }) => at >= 0 && index > at && stateroot === booted?.stateroot,
  );
  const named = new Set<OsDeployment | undefined>([booted, pending, rollback]);
  const others = rest.filter((one) => !named.has(one));
  return { booted, staged, pending, rollback, others, isBusy: transaction != null };
}

function deploymentOf(one: Deployment): OsDeployment {
  const reference = one['container-image-reference'];
  const origin = reference == null ? undefined : readOrigin(reference);
  return {
    image: origin?.spec,
    digest: one['container-image-reference-digest'] ?? undefined,
    // With packages on top the commit is the host's own; the base is what was pulled.
    checksum: one['base-checksum'] ?? one.checksum,
    version: one.version ?? undefined,
    stateroot: one.osname,
    serial: one.serial,
    isPinned: one.pinned,
    isLocked: one['finalization-locked'] === true,
    verification: origin?.verification ?? 'none',
  };
}
