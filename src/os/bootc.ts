import * as z from 'zod';
import { osFailure } from './failures.ts';
import { jsonIn } from '../lib/json.ts';
import type { OsDriver, StageRequest } from './driver.ts';
import { nextOf, type OsDeployment, type OsStatus, type ImageVerification } from './status.ts';

const Entry = z.object({
  image: z
    .object({
      image: z.object({
        image: z.string(),
        transport: z.string(),
        signature: z.unknown().optional(),
      }),
      imageDigest: z.string().nullish(),
      version: z.string().nullish(),
    })
    .nullish(),
  incompatible: z.boolean().default(false),
  pinned: z.boolean().default(false),
  ostree: z.object({ checksum: z.string(), stateroot: z.string().nullish() }).nullish(),
  composefs: z.object({ verity: z.string() }).nullish(),
});
type Entry = z.infer<typeof Entry>;

/** `bootc status --format=json` (bootc 1.16, `host-v1.schema.json`). */
const BootcHost = z.object({
  kind: z.literal('BootcHost'),
  status: z.object({
    type: z.string().nullish(),
    booted: Entry.nullish(),
    staged: Entry.nullish(),
    rollback: Entry.nullish(),
    otherDeployments: z.array(Entry).nullish(),
    rollbackQueued: z.boolean().default(false),
  }),
});

/** Whether bootc is at home on a host. */
export type BootcFinding =
  /** There is no bootc, or it does not answer. */
  | { readonly kind: 'absent'; readonly why: string }
  /** It runs, but did not boot this host. */
  | { readonly kind: 'stranger'; readonly why: string }
  /** It booted this host. */
  | { readonly kind: 'home' };

const statusArgv = ['bootc', 'status', '--format=json', '--format-version=1'] as const;

/**
 * Whether bootc can change this host: it booted it, from an image, and nobody added packages, with
 * which bootc refuses to work (`incompatible`).
 */
export function findBootc(stdout: string): BootcFinding {
  const parsed = BootcHost.safeParse(jsonIn(stdout));
  if (!parsed.success) return { kind: 'absent', why: 'bootc printed no status' };
  const { type, booted } = parsed.data.status;
  if (type == null || booted?.image == null) {
    return { kind: 'stranger', why: 'this host was not booted by bootc' };
  }
  return booted.incompatible
    ? { kind: 'stranger', why: 'packages are layered on the image, which bootc does not support' }
    : { kind: 'home' };
}

/** bootc, at home on hosts that were booted from a bootc image. */
export const bootc: OsDriver = {
  name: 'bootc',
  statusArgv,
  detailArgvs: () => [],
  readStatus: (stdout) => readBootcStatus(stdout),
  stageArgvs: stageWithBootc,
  rollbackArgvs: () => [['bootc', 'rollback']],
  // `bootc rollback` drops what is staged too, but queues the rollback with it.
  dropNextArgvs: (status) => {
    const index = nextOf(status)?.index;
    return index === undefined ? undefined : [['ostree', 'admin', 'undeploy', String(index)]];
  },
  // Each switch and upgrade of bootc removes the images that no deployment has.
  cleanArgvs: () => [],
};

function readBootcStatus(stdout: string): OsStatus {
  const parsed = BootcHost.safeParse(jsonIn(stdout));
  if (!parsed.success) {
    throw osFailure('os.status-not-read', 'the output of bootc status is not understood', {
      cause: parsed.error,
    });
  }
  const { booted, staged, rollback, otherDeployments, rollbackQueued } = parsed.data.status;
  const previous =
    rollback == null ? undefined : (rollbackQueued ? firstOf : deploymentOf)(rollback);
  return {
    ...(booted == null ? {} : { booted: deploymentOf(booted) }),
    ...(staged == null ? {} : { staged: firstOf(staged) }),
    ...(previous === undefined ? {} : { [rollbackQueued ? 'pending' : 'rollback']: previous }),
    others: (otherDeployments ?? []).map(deploymentOf),
    isBusy: false,
  };
}

function stageWithBootc(request: StageRequest): readonly (readonly string[])[] {
  if (request.kernelArguments !== undefined) {
    throw osFailure(
      'os.kernel-arguments-unsupported',
      'bootc has no command for kernel arguments, and the host has no rpm-ostree',
    );
  }
  switch (request.kind) {
    case 'keep':
      return [];
    case 'upgrade':
      return [['bootc', 'upgrade', '--quiet']];
    case 'switch':
      return [
        [
          ...['bootc', 'switch', '--quiet', '--transport', 'registry'],
          ...(request.verification === 'policy' ? ['--enforce-container-sigpolicy'] : []),
          request.image,
        ],
      ];
  }
}

const deploymentOf = ({ image, pinned, ostree, composefs }: Entry): OsDeployment => ({
  ...imageOf(image),
  checksum: ostree?.checksum ?? composefs?.verity ?? '',
  ...(ostree?.stateroot == null ? {} : { stateroot: ostree.stateroot }),
  isPinned: pinned,
  verification: verificationOf(image?.image.signature),
});

function imageOf(status: Entry['image']): Pick<OsDeployment, 'image' | 'digest' | 'version'> {
  if (status == null) return {};
  const { image, imageDigest, version } = status;
  return {
    image: specOf(image.transport, image.image),
    ...(imageDigest == null ? {} : { digest: imageDigest }),
    ...(version == null ? {} : { version }),
  };
}

/** What boots next is first in the list of ostree, where bootc keeps its deployments in ostree. */
const firstOf = (entry: Entry): OsDeployment => ({
  ...deploymentOf(entry),
  ...(entry.ostree == null ? {} : { index: 0 }),
});

const specOf = (transport: string, name: string): string =>
  transport === 'registry' ? name : `${transport}:${name}`;

/** `signature` is absent, `insecure`, `containerPolicy`, or an object that names an ostree remote. */
const verificationOf = (signature: unknown): ImageVerification => {
  if (signature == null || signature === 'insecure') return 'none';
  return signature === 'containerPolicy' ? 'policy' : 'remote';
};
