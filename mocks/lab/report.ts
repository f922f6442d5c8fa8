import { z } from 'zod';
import type { ClusterRecord } from '../inventory/records.ts';
import { DayReport } from '../cluster/day-2/day-report.ts';
import { releaseOs } from '../layering/plan.ts';

/** What a host is said to run that runs the system of the release. */
export const RELEASE_OS = 'stock';

/** An image as it fits into a line: its name and the beginning of its digest. */
export const shortImage = (image: string): string =>
  image.replace(/^.*\/([^/@]+)@sha256:([0-9a-f]{8}).*$/, '$1@sha256:$2…');

/** A booted image for people. */
export const systemName = (image: string): string =>
  image === releaseOs ? RELEASE_OS : shortImage(image);

/**
 * What became of a host: `done` it is a node; `failed` its agent gave up; `stopped` the service
 * took the installation from it; `live` it started from the live medium again; `unfinished` the
 * lab's time was over.
 */
export const HostOutcome = z.enum(['done', 'failed', 'stopped', 'live', 'unfinished']);
export type HostOutcome = z.infer<typeof HostOutcome>;

const WaitReport = z.strictObject({
  step: z.string(),
  for: z.string().describe('what had to become true'),
  seconds: z.number(),
});

const StepReport = z.strictObject({ step: z.string(), seconds: z.number() });

const FailureSummary = z.strictObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().optional().describe('what to do next'),
  logs: z.string().optional().describe('where its agent left its logs'),
});

const OperatorReport = z.strictObject({
  name: z.string(),
  status: z.string(),
  info: z.string(),
});

/** What happened on one host. */
export const HostReport = z.strictObject({
  name: z.string(),
  role: z.string(),
  outcome: HostOutcome,
  stage: z.string().describe('the last stage that the service accepted'),
  boots: z.int().describe('how often the host was started from its disk'),
  system: z
    .string()
    .optional()
    .describe('what it runs, where operating systems are built: `stock`, or the image by digest'),
  agentStarts: z.int().describe('how often the agent was started'),
  seconds: z.number(),
  waited: z.array(WaitReport),
  steps: z.array(StepReport).describe('where the time of the agent went, longest first'),
  idleSeconds: z
    .number()
    .optional()
    .describe('time in which nothing was missing for a wait, and the agent did nothing else'),
  writes: z.int().describe('how often the image was written to a disk'),
  commands: z.int().describe('commands that the agent ran on the host'),
  unknownCommands: z.array(z.string()).describe('commands that no stand-in knows'),
  failure: FailureSummary.optional(),
  secondAgent: FailureSummary.optional(),
});
export type HostReport = z.infer<typeof HostReport>;

const LayeringReport = z
  .strictObject({
    images: z.array(
      z.strictObject({
        pool: z.string(),
        image: z.string().describe('as nodes know it'),
        newBytes: z
          .int()
          .optional()
          .describe('of its layers that the release has not, compressed, where they are real'),
        pulledBytes: z
          .int()
          .optional()
          .describe('what hosts pulled of it, where its layers are real'),
      }),
    ),
    registries: z
      .array(
        z.strictObject({
          registry: z.string(),
          pulls: z.int(),
          pushes: z.int(),
          refused: z.int().describe('requests that it did not grant, or did not answer'),
        }),
      )
      .describe('what hosts asked of registries other than their own'),
  })
  .describe('where operating systems are built');
export type LayeringReport = z.infer<typeof LayeringReport>;

/** What `--report` writes. */
export const LabReport = z
  .strictObject({
    scenario: z.string(),
    outcome: z
      .enum(['installed', 'failed', 'unfinished'])
      .describe('installed: every host is a node; unfinished: the time was over'),
    isAsExpected: z.boolean(),
    differences: z.array(z.string()).describe('how the run differs from what was expected'),
    seconds: z.number(),
    clusterStatus: z.string(),
    operators: z.array(OperatorReport).describe('operators that are not available'),
    requests: z
      .int()
      .optional()
      .describe('requests that the inventory service of the lab has seen'),
    faults: z.int().describe('requests to any server that a fault has hit'),
    layering: LayeringReport.optional(),
    dayAfter: DayReport.optional(),
    hosts: z.array(HostReport),
  })
  .meta({ title: 'Report of a run of the lab' });
export type LabReport = z.infer<typeof LabReport>;

/** The outcome of a whole run, from those of its hosts. */
export function outcomeOf(hosts: readonly Pick<HostReport, 'outcome'>[]): LabReport['outcome'] {
  if (hosts.every(({ outcome }) => outcome === 'done')) return 'installed';
  return hosts.some(({ outcome }) => outcome === 'unfinished') ? 'unfinished' : 'failed';
}

/** Whether everything is installed: each host, and the cluster by what the service has of it. */
export const isInstalled = ({
  outcome,
  clusterStatus,
}: Pick<LabReport, 'outcome' | 'clusterStatus'>): boolean =>
  outcome === 'installed' && !['error', 'cancelled'].includes(clusterStatus);

/**
 * The outcome in words; where every host is a node and the installation has failed, both are said.
 */
export const outcomeWords = (ended: Pick<LabReport, 'outcome' | 'clusterStatus'>): string =>
  ended.outcome === 'installed' && !isInstalled(ended)
    ? `every host is a node, the installation ended in ${ended.clusterStatus}`
    : ended.outcome;

/** What a run leaves for its report. */
export interface FinishedRun {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly hosts: readonly HostReport[];
  readonly differences: readonly string[];
  readonly inventory: {
    readonly store: {
      readonly cluster: () => Pick<ClusterRecord, 'status' | 'operators'>;
    };
    /** Of a service of the lab's own. */
    readonly requests?: readonly unknown[];
  };
  /** Requests that a fault has hit. */
  readonly faults?: number;
  readonly layering?: LayeringReport | undefined;
  readonly dayAfter?: DayReport | undefined;
}

/** The report of a run that has ended now. */
export function reportOf(run: FinishedRun): LabReport {
  const { name, startedAt, hosts, differences, inventory, faults = 0 } = run;
  const { layering, dayAfter } = run;
  const { status, operators } = inventory.store.cluster();
  return {
    scenario: name,
    outcome: outcomeOf(hosts),
    isAsExpected: differences.length === 0,
    differences: [...differences],
    seconds: (Date.now() - startedAt) / 1000,
    clusterStatus: status,
    operators: operators
      .filter((one) => one.status !== 'available')
      .map(({ name: operator, status: state, statusInfo }) => ({
        name: operator,
        status: state,
        info: statusInfo,
      })),
    ...(inventory.requests === undefined ? {} : { requests: inventory.requests.length }),
    faults,
    ...(layering === undefined ? {} : { layering }),
    ...(dayAfter === undefined ? {} : { dayAfter }),
    hosts: [...hosts],
  };
}

/** The schema of a report as JSON Schema; published as docs/lab-report.schema.json. */
export const reportSchema = (): object => ({
  $id: 'urn:bootwright:lab-report',
  ...z.toJSONSchema(LabReport),
});
