/**
 * Does the jobs of several lanes, one of each lane at a time, in their order. A lane that is through
 * takes the last job of the longest one that has not begun, so that all of them end together.
 * @returns what became of the jobs, as they ended
 */
export async function runLanes<Job, Done>(
  lanes: readonly (readonly Job[])[],
  run: (job: Job) => Promise<Done>,
): Promise<readonly Done[]> {
  const waiting = lanes.map((jobs) => [...jobs]);
  const done: Done[] = [];
  const work = async (own: Job[]): Promise<void> => {
    for (let job = next(own, waiting); job !== undefined; job = next(own, waiting)) {
      done.push(await run(job));
    }
  };
  await Promise.all(waiting.map(work));
  return done;
}

/** Takes a job out of what waits. */
const next = <Job>(own: Job[], waiting: readonly Job[][]): Job | undefined =>
  own.length > 0
    ? own.shift()
    : waiting.toSorted((one, other) => other.length - one.length)[0]?.pop();
