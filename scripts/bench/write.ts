import { seconds } from '../../src/model/duration.ts';
import { type FigureRow, type Findings, found } from './figure.ts';
import { openStage, over, pause, seen, type Watched, writeSeconds } from './process.ts';

interface Write {
  /** From the start of the writer to the next command of the agent. */
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly peakMiB: number;
}

/** What the agent adds to a write, with the service there and with it dead from half the write on. */
export async function measureWrites(): Promise<Findings> {
  const bare = await bareSeconds();
  const alive = await writeOnce(false);
  const dead = await writeOnce(true);
  return found([
    ['peak RSS while writing', 'MiB', alive.peakMiB, 100],
    ...rowsOf('', alive, bare),
    ...rowsOf(', service dead from half the write on', dead, bare),
  ]);
}

function rowsOf(when: string, write: Write, bare: number): readonly FigureRow[] {
  const cpu = (write.cpuSeconds / bare) * 100;
  const wall = Math.max(0, write.wallSeconds - bare);
  return [
    [`CPU added to a write${when}`, '%', cpu, 1],
    [`wall time added to a write${when}`, 's', wall, 0.2],
  ];
}

async function bareSeconds(): Promise<number> {
  await using stage = await openStage('master');
  const { seconds: taken } = await stage.bare(['coreos-installer', 'install', '/dev/sda']).ended;
  return taken;
}

async function writeOnce(isServiceLost: boolean): Promise<Write> {
  await using stage = await openStage('master');
  const agent = stage.agent();
  const writer = await seen(stage.host.machine, 'coreos-installer');
  const cpuBefore = agent.cpuSeconds();
  const peak = watchMemory(agent);
  if (isServiceLost) {
    await pause(seconds(writeSeconds) / 2);
    await stage.host.inventory.close();
  }
  await over(writer);
  const cpuSeconds = agent.cpuSeconds() - cpuBefore;
  const peakMiB = peak.stop();
  const wallSeconds = (await nextCommandAfter(stage.host.machine, writer)) - writer.at;
  agent.stop();
  await agent.ended;
  return { wallSeconds: wallSeconds / 1000, cpuSeconds, peakMiB };
}

/** The step has ended when the journal says so; the agent shows it by what it does next. */
async function nextCommandAfter(
  machine: Parameters<typeof seen>[0],
  writer: Awaited<ReturnType<typeof seen>>,
): Promise<number> {
  const index = machine.ran.indexOf(writer);
  for (let turn = 0; turn < 400; turn += 1) {
    const next = machine.ran[index + 1];
    if (next !== undefined) return next.at;
    await pause(5);
  }
  return Date.now();
}

/** The highest resident size from now on: what it took to start is not what it takes to write. */
function watchMemory(agent: Watched): { readonly stop: () => number } {
  let peak = 0;
  const sample = (): void => {
    peak = Math.max(peak, agent.residentMiB());
  };
  const timer = setInterval(sample, 50);
  return {
    stop: () => {
      clearInterval(timer);
      sample();
      return peak;
    },
  };
}
