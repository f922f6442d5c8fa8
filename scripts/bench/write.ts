import { seconds } from '../../src/model/duration.ts';
import { type FigureRow, type Findings, found } from './figure.ts';
import { openStage, pause, until, writeSeconds } from './process.ts';

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
  const { ran } = stage.host.machine;
  const writer = await until(() => ran.find(({ argv }) => argv[0] === 'coreos-installer'));
  const cpuBefore = agent.cpuSeconds();
  // What it took to start is not what it takes to write.
  agent.forgetPeak();
  if (isServiceLost) {
    await pause(seconds(writeSeconds) / 2);
    await stage.host.inventory.close();
  }
  await until(() => writer.exitCode);
  const cpuSeconds = agent.cpuSeconds() - cpuBefore;
  const peakMiB = agent.peakMiB();
  // The step has ended when the journal says so; the agent shows it by what it does next.
  const next = await until(() => ran[ran.indexOf(writer) + 1]);
  await agent.stop();
  return { wallSeconds: (next.at - writer.at) / 1000, cpuSeconds, peakMiB };
}
