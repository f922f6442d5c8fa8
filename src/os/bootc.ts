import * as z from 'zod';
import { jsonIn } from '../lib/json.ts';
import { osFailure } from './failures.ts';
import type { ImageVerification, OsDeployment, OsStatus } from './status.ts';

// bootc, the program of hosts that booted a bootc image: its commands and their output, recorded in
// test/support/os-recorded.

const Spec = z.object({ image: z.string(), transport: z.string() });

const Entry = z.object({
  image: z
    .object({
      image: Spec.extend({ signature: z.unknown().optional() }),
      imageDigest: z.string().nullish(),
      version: z.string().nullish(),
    })
    .nullish(),
  incompatible: z.boolean().default(false),
  pinned: z.boolean().default(false),
  downloadOnly: z.boolean().nullish(),
  ostree: z
    .object({
      checksum: z.string(),
      stateroot: z.string().nullish(),
      deploySerial: z.number().nullish(),
    })
    .nullish(),
  composefs: z.object({ verity: z.string() }).nullish(),
});
type Entry = z.infer<typeof Entry>;

/** `bootc status --format=json` (bootc 1.16, `host-v1.schema.json`). */
const BootcHost = z.object({
  kind: z.literal('BootcHost'),
  spec: z.object({ image: Spec.nullish() }).nullish(),
  status: z.object({
    type: z.string().nullish(),
    booted: Entry.nullish(),
    staged: Entry.nullish(),
    rollback: Entry.nullish(),
    otherDeployments: z.array(Entry).nullish(),
    rollbackQueued: z.boolean().default(false),
    readOnly: z.boolean().nullish(),
  }),
});

/** bootc waits for the lock of the sysroot while another program holds it. */
export const bootcStatusArgv = [
  ...['bootc', 'status', '--format=json', '--format-version=1'],
] as const;

/** bootc writes it at the end of a complete staging; kured reboots a node that has the file. */
export const rebootRequiredPath = '/run/reboot-required';

/** Whether bootc wrote `/run/reboot-required` for one of these images. */
export const isRequiredFor = (text: string, digests: readonly (string | undefined)[]): boolean =>
  text.startsWith('bootc: Reboot required for image: ') &&
  digests.some((digest) => digest !== undefined && text.includes(digest));

/**
 * The reason why bootc cannot change this host; undefined if it can. The host must have booted an
 * image through bootc and must have no layered packages: with those bootc refuses to work
 * (`incompatible`).
 */
export function refusalOfBootc(stdout: string): string | undefined {
  const parsed = BootcHost.safeParse(jsonIn(stdout));
  if (!parsed.success) return 'bootc printed no status';
  const { type, booted } = parsed.data.status;
  if (type == null || booted?.image == null) return 'this host was not booted by bootc';
  return booted.incompatible
    ? 'packages are layered on the image, which bootc does not support'
    : undefined;
}

/**
 * Reads `bootc status`. `required` is the text of `/run/reboot-required`. It shows whether bootc
 * completed the staging: bootc stages the image first and then pulls the images that are bound to
 * it.
 * @throws AgentError `os.status-not-read`
 */
export function readBootcStatus(stdout: string, required = ''): OsStatus {
  const parsed = BootcHost.safeParse(jsonIn(stdout));
  if (!parsed.success) {
    throw osFailure('os.status-not-read', 'the output of bootc status is not understood', {
      cause: parsed.error,
    });
  }
  const { spec, status } = parsed.data;
  const { booted, staged, rollback, rollbackQueued, otherDeployments, readOnly } = status;
  return {
    booted: booted == null ? undefined : deploymentOf(booted),
    staged: staged == null ? undefined : firstOf(staged),
    pending: rollback != null && rollbackQueued ? firstOf(rollback) : undefined,
    rollback: rollback == null || rollbackQueued ? undefined : deploymentOf(rollback),
    others: (otherDeployments ?? []).map(deploymentOf),
    isBusy: false,
    followed: spec?.image == null ? undefined : specOf(spec.image),
    isReadOnly: readOnly === true,
    isUnfinished: staged != null && isUnfinished(staged, booted, required),
  };
}

/** A change of kernel arguments alone pulls nothing and writes no `/run/reboot-required`. */
function isUnfinished(staged: Entry, booted: Entry | null | undefined, required: string): boolean {
  const isSameCommit = staged.ostree != null && staged.ostree.checksum === booted?.ostree?.checksum;
  return !isSameCommit && !isRequiredFor(required, [staged.image?.imageDigest ?? undefined]);
}

/**
 * Stages an image. `bootc upgrade` follows `spec.image`; `bootc switch` to that same image does
 * nothing.
 */
export const bootcStageArgv = (
  kind: 'switch' | 'upgrade',
  { image, verification }: { readonly image: string; readonly verification: 'none' | 'policy' },
): readonly string[] =>
  kind === 'upgrade'
    ? ['bootc', 'upgrade', '--quiet']
    : [
        ...['bootc', 'switch', '--quiet', '--transport', 'registry'],
        ...(verification === 'policy' ? ['--enforce-container-sigpolicy'] : []),
        image,
      ];

/** Releases the deployment that `--download-only` staged, so that the host boots it next. */
export const bootcUnlockArgv = ['bootc', 'upgrade', '--quiet', '--from-downloaded'] as const;

/**
 * Puts the rollback deployment first; if it is first already, the booted one. Drops the staged
 * deployment.
 */
export const bootcRollbackArgv = ['bootc', 'rollback'] as const;

/**
 * Makes the host boot the running deployment next: drops the staged deployment, or cancels a queued
 * rollback. `bootc rollback` would drop the staged deployment too, but queue a rollback; `ostree
 * admin undeploy` of a queued rollback would delete the rollback deployment. Undefined if bootc
 * keeps no ostree deployments.
 */
export function bootcDropArgv({ staged, pending }: OsStatus): readonly string[] | undefined {
  if (staged === undefined) return pending === undefined ? undefined : bootcRollbackArgv;
  const { index } = staged;
  return index === undefined ? undefined : ['ostree', 'admin', 'undeploy', String(index)];
}

/** The source under which bootc keeps the kernel arguments of Bootwright (`--source`). */
export const argumentSource = 'bootwright';

/** Stages a copy of the next deployment whose kernel arguments of this source are exactly these. */
export const bootcArgumentsArgv = (list: readonly string[]): readonly string[] => [
  ...['bootc', 'loader-entries', 'set-options-for-source', '--source', argumentSource],
  ...(list.length === 0 ? [] : ['--options', list.join(' ')]),
];

/**
 * Whether these versions of bootc and ostree keep kernel arguments by source; the texts are those
 * that `bootc --version` and `ostree --version` print.
 */
export const keepsArgumentSources = (bootcVersion: string, ostreeVersion: string): boolean =>
  isSince(/^bootc (\d+(?:\.\d+)*)/m.exec(bootcVersion)?.[1], [1, 15, 2]) &&
  isSince(/^ *Version: '?(\d+(?:\.\d+)*)/m.exec(ostreeVersion)?.[1], [2026, 1]);

function isSince(version: string | undefined, first: readonly number[]): boolean {
  if (version === undefined) return false;
  const parts = version.split('.').map(Number);
  for (const [at, least] of first.entries()) {
    const part = parts[at] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

const deploymentOf = ({ image, pinned, ostree, composefs, downloadOnly }: Entry): OsDeployment => ({
  image: image == null ? undefined : specOf(image.image),
  digest: image?.imageDigest ?? undefined,
  version: image?.version ?? undefined,
  checksum: ostree?.checksum ?? composefs?.verity ?? '',
  stateroot: ostree?.stateroot ?? undefined,
  serial: ostree?.deploySerial ?? undefined,
  isPinned: pinned,
  isLocked: downloadOnly === true,
  verification: verificationOf(image?.image.signature),
});

/**
 * The next deployment is the first in the list of ostree, if bootc keeps its deployments in ostree.
 */
const firstOf = (entry: Entry): OsDeployment => ({
  ...deploymentOf(entry),
  index: entry.ostree == null ? undefined : 0,
});

const specOf = ({ transport, image }: z.infer<typeof Spec>): string =>
  transport === 'registry' ? image : `${transport}:${image}`;

/**
 * `signature` is absent, `insecure`, `containerPolicy`, or an object that names an ostree remote.
 */
const verificationOf = (signature: unknown): ImageVerification => {
  if (signature == null || signature === 'insecure') return 'none';
  return signature === 'containerPolicy' ? 'policy' : 'remote';
};
