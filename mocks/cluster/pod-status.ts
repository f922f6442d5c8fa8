import { runningStatus } from './pods.ts';
import type { NodeRunEnd } from './site.ts';

/** How the one container of a pod has fared so far. */
export interface PodRuns {
  readonly name: string;
  readonly image: string;
  /** When the pod came to its node. */
  readonly at: Date;
  /** How often its program was started anew. */
  readonly restarts: number;
  /** The end of the run before. */
  readonly last?: NodeRunEnd | undefined;
}

/** Where the program of a pod is. */
export type PodPhase = 'running' | 'waiting' | 'succeeded';

const seconds = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, 'Z');

/** What a kubelet says of a pod that is started again until its program succeeds (`restartPolicy: OnFailure`). */
export function podStatus(runs: PodRuns, phase: PodPhase, now: Date): object {
  const { name, image, at, restarts, last } = runs;
  const states = {
    running: { running: { startedAt: seconds(now) } },
    waiting: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off restarting' } },
    succeeded: { terminated: { exitCode: 0, reason: 'Completed', finishedAt: seconds(now) } },
  };
  return {
    ...runningStatus(at),
    ...(phase === 'succeeded' ? { phase: 'Succeeded' } : {}),
    containerStatuses: [
      {
        name,
        image,
        imageID: image,
        ready: phase === 'running',
        restartCount: restarts,
        state: states[phase],
        lastState:
          last === undefined
            ? {}
            : { terminated: { ...last, reason: 'Error', finishedAt: seconds(now) } },
      },
    ],
  };
}
