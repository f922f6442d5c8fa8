import * as z from 'zod';
import { osFailure } from './failures.ts';
import { jsonIn } from '../lib/json.ts';
import {
  type Argv,
  changedArguments,
  isSameList,
  type OsDriver,
  type StageRequest,
} from './driver.ts';
import { type OsDeployment, type OsStatus, readOrigin, renderOrigin, statusOf } from './status.ts';

/** `rpm-ostree status --json`; the deployments stand in the order of the boot loader. */
const RpmOstreeStatus = z.object({
  deployments: z.array(
    z.object({
      osname: z.string().optional(),
      checksum: z.string(),
      'base-checksum': z.string().optional(),
      version: z.string().nullish(),
      booted: z.boolean().default(false),
      staged: z.boolean().default(false),
      pinned: z.boolean().default(false),
      'container-image-reference': z.string().nullish(),
      'container-image-reference-digest': z.string().nullish(),
    }),
  ),
  transaction: z.unknown(),
});
type Deployment = z.infer<typeof RpmOstreeStatus>['deployments'][number];

/** rpm-ostree, at home on CoreOS; what the Machine Config Operator uses too. */
export const rpmOstree: OsDriver = {
  name: 'rpm-ostree',
  statusArgv: ['rpm-ostree', 'status', '--json'],
  detailArgvs: () => [],
  readStatus: (stdout) => readRpmOstreeStatus(stdout),
  argumentsArgv: (index = 0) => [
    ...['rpm-ostree', 'kargs'],
    ...(index === 0 ? [] : [`--deploy-index=${index}`]),
  ],
  stageArgvs: stageWithRpmOstree,
  rollbackArgvs: () => [['rpm-ostree', 'rollback']],
  dropNextArgvs: () => [['rpm-ostree', 'cleanup', '--pending']],
  // Deployments and images that nothing leads to go with each change; this removes what a stopped
  // one left. `--rollback` is never given: the way back stays until there is another.
  cleanArgvs: () => [['rpm-ostree', 'cleanup', '--base']],
};

/**
 * One call takes out what goes and appends what comes, as the Machine Config Daemon does. What is not there is not named: rpm-ostree
 * deletes after it has appended, the first that is equal.
 */
function kargsArgvs({ kernelArguments, present }: StageRequest): readonly Argv[] {
  if (kernelArguments === undefined) return [];
  const { gone, all } = changedArguments(present ?? kernelArguments.remove, kernelArguments);
  if (present !== undefined && isSameList(all, present)) return [];
  return [
    [
      ...['rpm-ostree', 'kargs'],
      ...gone.map((argument) => `--delete-if-present=${argument}`),
      ...kernelArguments.append.map((argument) => `--append=${argument}`),
    ],
  ];
}

function stageWithRpmOstree(request: StageRequest): readonly Argv[] {
  const { kind, image, verification } = request;
  const change = kargsArgvs(request);
  switch (kind) {
    case 'keep':
      return change;
    case 'upgrade':
      // A rebase to the name that is followed already is refused: "Old and new refs are equal".
      return [['rpm-ostree', 'upgrade'], ...change];
    case 'switch':
      // As the Machine Config Daemon does; older releases refuse an image without `--experimental`.
      return [
        ['rpm-ostree', 'rebase', '--experimental', renderOrigin(image, verification)],
        ...change,
      ];
  }
}

function readRpmOstreeStatus(stdout: string): OsStatus {
  const parsed = RpmOstreeStatus.safeParse(jsonIn(stdout));
  if (!parsed.success) {
    throw osFailure('os.status-not-read', 'the output of rpm-ostree status is not understood', {
      cause: parsed.error,
    });
  }
  const { deployments, transaction } = parsed.data;
  const ordered = deployments.map((one, index) => ({
    deployment: { ...deploymentOf(one), index },
    isBooted: one.booted,
    isStaged: one.staged,
  }));
  return statusOf(ordered, transaction != null);
}

function deploymentOf(one: Deployment): OsDeployment {
  const reference = one['container-image-reference'];
  const digest = one['container-image-reference-digest'];
  const origin = reference == null ? undefined : readOrigin(reference);
  return {
    ...(origin === undefined ? {} : { image: origin.spec }),
    ...(digest == null ? {} : { digest }),
    // With packages on top the commit is the host's own; the base is what was pulled.
    checksum: one['base-checksum'] ?? one.checksum,
    ...(one.version == null ? {} : { version: one.version }),
    ...(one.osname === undefined ? {} : { stateroot: one.osname }),
    isPinned: one.pinned,
    verification: origin?.verification ?? 'none',
  };
}
