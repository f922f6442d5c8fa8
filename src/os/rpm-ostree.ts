import * as z from 'zod';
import { jsonIn } from '../lib/json.ts';
import { osFailure } from './failures.ts';
import { changedArguments, isSameList, type KernelArgumentChange } from './kernel-arguments.ts';
import { type OsDeployment, type OsStatus, readOrigin, renderOrigin } from './status.ts';

// rpm-ostree, the program of CoreOS, which the Machine Config Operator uses too: its commands and
// their output, recorded in test/support/os-recorded.

/** `rpm-ostree status --json`; the deployments are in the order of the boot loader. */
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
/** Asks the daemon, which answers while another transaction runs. */
export const rpmOstreeStatusArgv = ['rpm-ostree', 'status', '--json'] as const;

/**
 * Prints the kernel arguments of the next deployment, of the deployment with an index, or of a
 * stateroot.
 */
export const rpmOstreeArgumentsArgv = (of: number | { readonly stateroot: string } = 0) => [
  ...['rpm-ostree', 'kargs'],
  ...(typeof of === 'object' ? [`--os=${of.stateroot}`] : of === 0 ? [] : [`--deploy-index=${of}`]),
];

/**
 * Changes kernel arguments in one call, as the Machine Config Daemon does. The call names only
 * arguments that are present: rpm-ostree appends before it deletes, and deletes the first equal
 * argument. Undefined if nothing changes.
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
 * Stages an image. rpm-ostree refuses a rebase to the name that the host follows already: "Old and
 * new refs are equal". It uses `--experimental` as the Machine Config Daemon does: older releases
 * refuse an image without it.
 */
export const rpmOstreeStageArgv = (
  kind: 'switch' | 'upgrade',
  { image, verification }: { readonly image: string; readonly verification: 'none' | 'policy' },
): readonly string[] =>
  kind === 'upgrade'
    ? ['rpm-ostree', 'upgrade']
    : ['rpm-ostree', 'rebase', '--experimental', renderOrigin(image, verification)];

/**
 * Puts the rollback deployment first; if another deployment than the booted one is first, the
 * booted one.
 */
export const rpmOstreeRollbackArgv = ['rpm-ostree', 'rollback'] as const;

/**
 * Makes the host boot the running deployment next. `cleanup --pending` would delete a queued
 * rollback, and with it the rollback deployment.
 */
export const rpmOstreeDropArgv = ({ staged, pending }: OsStatus): readonly string[] =>
  staged === undefined && pending !== undefined
    ? rpmOstreeRollbackArgv
    : ['rpm-ostree', 'cleanup', '--pending'];

/**
 * Removes the remains of an interrupted change; a change that completes removes unreferenced
 * deployments and images itself. Never with `--rollback`: the rollback deployment stays until
 * another one replaces it.
 */
export const rpmOstreeCleanArgv = ['rpm-ostree', 'cleanup', '--base'] as const;

/** Cancels the transaction of a client that disconnected. */
export const rpmOstreeCancelArgv = ['rpm-ostree', 'cancel'] as const;

/**
 * Reads `rpm-ostree status --json`, in the order of the boot loader (ostree,
 * `ostree_sysroot_get_deployments`): the staged deployment, the ones before the booted one, the
 * booted one, and the rollback deployment: the first after the booted one in the same stateroot.
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
  // The first deployment boots next, even if it is of another stateroot.
  const pending = rest.find(({ index }) => index < at);
  const rollback = rest.find(
    ({ index, stateroot }) => at >= 0 && index > at && stateroot === booted?.stateroot,
  );
  const named = new Set<OsDeployment | undefined>([booted, pending, rollback]);
  const others = rest.filter((one) => !named.has(one));
  return { booted, staged, pending, rollback, others, isBusy: transaction != null };
}

function deploymentOf(one: z.infer<typeof RpmOstreeStatus>['deployments'][number]): OsDeployment {
  const reference = one['container-image-reference'];
  const origin = reference == null ? undefined : readOrigin(reference);
  return {
    image: origin?.spec,
    digest: one['container-image-reference-digest'] ?? undefined,
    // With layered packages the commit is the host's own; the base commit is the pulled one.
    checksum: one['base-checksum'] ?? one.checksum,
    version: one.version ?? undefined,
    stateroot: one.osname,
    serial: one.serial,
    isPinned: one.pinned,
    isLocked: one['finalization-locked'] === true,
    verification: origin?.verification ?? 'none',
  };
}
