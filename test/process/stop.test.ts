import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentProcess } from '../../mocks/lab/agent.ts';
import type { SingleHost, SingleHostPlan } from '../../mocks/lab/single-host.ts';
import { becomes, hasWritten, logOf, openHost, startOn } from './faulty-run.ts';

const open = (plan: Partial<SingleHostPlan> = {}): Promise<SingleHost> =>
  openHost({ isControlPlaneDone: false, write: { seconds: 120, lineMillis: 100 }, ...plan });

/**
 * Without the stop, the agent would wait for the writer, the service or the control plane, longer
 * than a test may take.
 */
async function stopped(agent: AgentProcess): Promise<void> {
  agent.stop();
  const { exitCode, signal } = await agent.ended;
  expect({ exitCode, signal }).toEqual({ exitCode: 143, signal: undefined });
}

const ran = (host: SingleHost, program: string): boolean =>
  host.machine.ran.some(({ argv }) => argv[0] === program);

describe('SIGTERM ends the agent', () => {
  it('during the write, and leaves neither a bootable disk nor a running writer', async () => {
    await using host = await open();
    const agent = startOn(host);
    await becomes(() => ran(host, 'coreos-installer'));
    await becomes(() => hasWritten(host));
    await stopped(agent);
    const writer = host.machine.ran.find(({ argv }) => argv[0] === 'coreos-installer');
    expect(writer?.exitCode).toBeUndefined();
    expect(host.machine.installed).toBeUndefined();
    expect(host.machine.devices.byKname('sda')?.table).toBeUndefined();
    // Collecting the logs of a failure takes longer than a stop allows.
    const left = readdirSync(join(host.folder, 'root/opt/install-dir'));
    expect(left.filter((name) => name.startsWith('bundle-'))).toEqual([]);
  });

  it('even if the writer ignores SIGTERM, and changes the disk only after its end', async () => {
    await using host = await open();
    // Runs between the agent and its host: a writer that ignores SIGTERM, and a list of the
    // processes that still run when a later command begins.
    const folder = join(host.folder, 'stubborn');
    const [order, writerPid] = [join(folder, 'order'), join(folder, 'pid')];
    mkdirSync(folder);
    const nsenter = `#!/bin/bash
case "$*" in
*coreos-installer\\ install*) ;;
*)
  if [ -s ${writerPid} ]; then
    kill -0 "$(cat ${writerPid})" && echo beside >>${order}
    echo "$*" >>${order}
  fi
  exec ${host.nsenter} "$@" ;;
esac
trap 'echo asked >>${order}' TERM
echo 'Read disk 45.5 MiB/113.7 MiB (40%)' >&2
echo $$ >${writerPid}
while :; do sleep 0.1; done
`;
    writeFileSync(join(folder, 'nsenter'), nsenter, { mode: 0o755 });
    const agent = startOn(host, { env: { PATH: `${folder}:${host.environment.PATH}` } });
    await becomes(() => hasWritten(host));
    await stopped(agent);
    const lines = readFileSync(order, 'utf8').split('\n');
    expect(lines).not.toContain('asked');
    expect(lines).not.toContain('beside');
    // Only lsblk and the zeros of dd: each further program takes time on a busy machine.
    const programs = lines.flatMap((line) => /\b(?:lsblk|dd|wipefs|sgdisk)\b/.exec(line) ?? []);
    expect(programs.slice(-2)).toEqual(['lsblk', 'dd']);
    expect(() => process.kill(Number(readFileSync(writerPid, 'utf8')), 0)).toThrow('ESRCH');
  });

  it('while the report of a failure waits for an unreachable service', async () => {
    await using host = await open();
    host.machine.writer.failsAtPercent = [10, 10, 10];
    host.machine.writer.seconds = 1;
    const agent = startOn(host);
    await becomes(() => ran(host, 'coreos-installer'));
    await host.inventory.close();
    await becomes(() => logOf(host).includes('run failed'));
    await stopped(agent);
  });

  it('while the report before the reboot waits for an unreachable service', async () => {
    await using host = await open({ write: { seconds: 0.5, lineMillis: 20 } });
    const agent = startOn(host);
    await becomes(() => ran(host, 'coreos-installer'));
    await host.inventory.close();
    await becomes(() => logOf(host).includes('finish/keep-unreported'));
    await stopped(agent);
    expect(ran(host, 'shutdown')).toBe(false);
  });
});
