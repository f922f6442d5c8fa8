import { describe, expect, it } from 'vitest';
import { readFileContent } from '../../src/ignition/resource.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { isMcsLog } from '../../src/cluster/mcs-log.ts';
import { bootstrapIgnition } from '../inventory/bootstrap-ignition.ts';
import { clusterSeed } from '../inventory/seed.ts';
import { bootstrapScripts, withGuestScripts } from './bootstrap-config.ts';

const desk = 'http://10.0.2.2:1234';
const { config, warnings } = parseValidConfig(
  withGuestScripts(bootstrapIgnition(clusterSeed()), desk),
);

describe('the bootstrap config of a virtual machine', () => {
  it('is a valid Ignition', () => {
    expect(warnings).toEqual([]);
  });

  it.each(config.systemd?.units ?? [])('has a script for $name, once', ({ contents = '' }) => {
    const path = /^ExecStart=(.*)$/m.exec(contents)?.[1] ?? '';
    const found = config.storage?.files?.filter((file) => file.path === path) ?? [];
    expect(found.map(({ mode }) => mode)).toEqual([0o755]);
    expect(Buffer.from(readFileContent(config, path)).toString()).toMatch(/^#!\/bin\/bash\n/);
  });

  it('keeps what the service put into it', () => {
    expect(readFileContent(config, '/root/.docker/config.json').length).toBeGreaterThan(0);
  });
});

describe('the scripts of a bootstrap host', () => {
  const scripts = [...bootstrapScripts(desk)];

  it.each(scripts)('%s has every blank filled in', (_, text) => {
    expect(text).not.toMatch(/@[A-Z]+@/);
  });

  it('log requests where an agent looks for them', () => {
    const [, kubelet = ''] = scripts.find(([path]) => path.endsWith('/kubelet.sh')) ?? [];
    const name = /"\/var\/log\/containers\/(.*)"$/m.exec(kubelet)?.[1] ?? '';
    expect(isMcsLog(name)).toBe(true);
  });
});
