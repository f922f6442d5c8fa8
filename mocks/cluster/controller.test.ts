import { describe, expect, it } from 'vitest';
import type { HostPhase } from './cluster-state.ts';
import { configRequestLine } from './kubelet.ts';
import { reportsOf } from './controller.ts';

const seen = (phase: HostPhase, stage: string, hasAsked = true) => ({
  host: { id: 'h', stage, status: 'installing-in-progress' as const },
  phase,
  hasAsked,
});

describe('what the controller reports', () => {
  it.each([
    { name: 'a host that boots', of: seen('booting', 'Rebooting', false), stages: [] },
    {
      name: 'a host that asked a master',
      of: seen('configuring', 'Rebooting'),
      stages: ['Configuring'],
    },
    {
      name: 'a worker that the bootstrap host saw',
      of: seen('configuring', 'Waiting for ignition'),
      stages: ['Configuring'],
    },
    { name: 'the same a second time', of: seen('unapproved', 'Configuring'), stages: [] },
    { name: 'a new node', of: seen('joining', 'Configuring'), stages: ['Joined'] },
    {
      name: 'a node that is Ready when it is first seen',
      of: seen('ready', 'Rebooting'),
      stages: ['Joined', 'Done'],
    },
    { name: 'a node that joined', of: seen('ready', 'Joined'), stages: ['Done'] },
  ])('$name: $stages', ({ of, stages }) => {
    expect(reportsOf([of]).map(({ stage }) => stage)).toEqual(stages);
  });

  it('leaves hosts alone that are installed', () => {
    const one = seen('ready', 'Done');
    expect(reportsOf([{ ...one, host: { ...one.host, status: 'installed' } }])).toEqual([]);
  });
});

describe('the log of the machine-config-server', () => {
  const at = new Date(0);
  it.each([
    ['10.1.2.3', 0, ' requested by 10.1.2.3:47018 User-Agent:"Ignition/'],
    ['fe80::5054', 0, ' requested by [fe80::5054%ens3]:47018 User-Agent:"Ignition/'],
    ['2620:52::83', 1, ' requested by address:"[2620:52::83]:47018" User-Agent:"Ignition/'],
  ])('says who asked: %s', (address, form, said) => {
    const line = configRequestLine({ pool: 'master', address, at, form });
    expect(line).toContain(said);
    expect(line.endsWith('\n')).toBe(true);
  });
});
