import { expect, it } from 'vitest';
import { runScenario } from '../../mocks/lab/run.ts';
import { DEFAULT_SCENARIO, readScenario } from '../../mocks/lab/scenario.ts';

const servers = (): readonly string[] =>
  process.getActiveResourcesInfo().filter((name) => /^(TCPServer|Pipe)Wrap$/.test(name));

it('leaves no server behind when its cluster cannot start', async () => {
  const scenario = await readScenario(DEFAULT_SCENARIO);
  const before = servers();
  const run = runScenario({
    name: DEFAULT_SCENARIO,
    scenario,
    bundle: '/nowhere',
    kube: { binaries: '/nowhere', crds: '/nowhere', data: '/nowhere' },
    signal: new AbortController().signal,
    watch: () => () => undefined,
  });
  await expect(run).rejects.toThrow('/nowhere');
  await expect.poll(servers).toEqual(before);
});
