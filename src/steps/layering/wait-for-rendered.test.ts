import { describe, expect, it } from 'vitest';
import { requestFor, renderedFor } from '../../../test/layering/lane-facts.ts';
import { poolText, renderedText } from '../../../test/layering/rendered.ts';
import { bootkubeHost } from '../../../test/support/cluster-objects.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { blockedControllerConfig, poolFile } from '../../layering/manifests/bootstrap-files.ts';
import { waitForRendered } from './wait-for-rendered.ts';

const config = { cluster: { openshiftVersion: '4.21.0' } };
const pools = ['master', 'worker'];
const facts = { request: requestFor(pools) };
const host = (rendered = pools) =>
  rendered.reduce(
    (machine, pool) =>
      machine
        .withFile(poolFile(pool), poolText(pool))
        .withFile(renderedFor(pool).file, renderedText(pool)),
    bootkubeHost(),
  );
const logNamed = (id: string): string =>
  `/var/log/containers/bootstrap-machine-config-operator-m0_default_machine-config-controller-${id}.log`;
const fatal = 'stderr F F1121 bootstrap.go:101] error running MCC[BOOTSTRAP]: no featuregate';

describe('layering/wait-for-rendered', () => {
  it('returns the rendered pools once the config server is blocked', async () => {
    const clock = fakeClock({ auto: false });
    const machine = host();
    const run = runStep(waitForRendered, { host: machine, clock, config, facts });
    await settle();
    machine.withFile(blockedControllerConfig, '');
    const { value, events } = await run;
    expect(value).toEqual({ kind: 'pools', pools: pools.map(renderedFor) });
    expect(clock.now()).toBe(0);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'wait.updated',
        status: `${blockedControllerConfig} does not exist yet`,
      }),
    );
  });

  it('returns the OS stream of the worker pool for a custom pool', async () => {
    const stream = (pool: string): string =>
      poolText(pool).replace('spec:\n', 'spec:\n  osImageStream: {name: rhel-10}\n');
    const machine = host(['master', 'worker', 'infra'])
      .withFile(poolFile('worker'), stream('worker'))
      .withFile(blockedControllerConfig, '');
    const ordered = { request: requestFor(['master', 'infra']) };
    const { value } = await runStep(waitForRendered, { host: machine, config, facts: ordered });
    expect(value).toMatchObject({
      pools: [renderedFor('master'), { ...renderedFor('infra'), stream: 'rhel-10' }],
    });
  });

  it('uses the default stream of the manifests for a pool without a stream', async () => {
    const workerPool = poolText('worker').replace(
      'spec:\n',
      'spec:\n  osImageStream: {name: rhel-9}\n',
    );
    const machine = host(['master', 'worker'])
      .withFile(poolFile('worker'), workerPool)
      .withFile(
        '/opt/openshift/openshift/99_osimagestream.yaml',
        'kind: OSImageStream\nmetadata: {name: cluster}\nspec: {defaultStream: rhel-10}\n',
      )
      .withFile('/opt/openshift/manifests/other.yaml', 'kind: ImageStream\nspec: [\n')
      .withFile(blockedControllerConfig, '');
    const ordered = { request: requestFor(['master', 'worker']) };
    const { value } = await runStep(waitForRendered, { host: machine, config, facts: ordered });
    expect(value).toMatchObject({
      pools: [
        { ...renderedFor('master'), stream: 'rhel-10' },
        { ...renderedFor('worker'), stream: 'rhel-9' },
      ],
    });
  });

  it('fails when the bootkube unit has failed', async () => {
    const machine = host()
      .on(['systemctl', 'show', rest])
      .prints('ActiveState=failed\nSubState=failed\nResult=start-limit-hit\nNRestarts=4\n')
      .on(['journalctl', rest])
      .prints('no space left on device');
    const clock = fakeClock();
    const { failure } = await tryStep(waitForRendered, { host: machine, clock, config, facts });
    expect(failure).toMatchObject({ code: 'cluster.bootkube-failed' });
    expect(clock.now()).toBe(0);
  });

  it('reports a failure of the controller and gives up after the second', async () => {
    const machine = host()
      .withLink(logNamed('1'), '/var/log/pods/1.log')
      .withFile('/var/log/pods/1.log', `${fatal}\n`);
    const clock = fakeClock({ auto: false });
    const run = tryStep(waitForRendered, { host: machine, clock, config, facts });
    await settle();
    machine.withFile(logNamed('2'), `${fatal}s\n`);
    const { failure, events } = await run;
    expect(events).toContainEqual(
      expect.objectContaining({
        status: 'machine-config-controller failed and is restarted: no featuregate',
      }),
    );
    expect(failure).toMatchObject({
      code: 'layering.not-rendered',
      kind: 'cluster',
      message: 'machine-config-controller failed: no featuregates',
    });
  });

  it('fails when one pool is not rendered', async () => {
    const machine = host(['master']).withFile(blockedControllerConfig, '');
    const { failure } = await tryStep(waitForRendered, { host: machine, config, facts });
    expect(failure).toMatchObject({
      code: 'layering.not-rendered',
      message: `${poolFile('worker')} is missing`,
    });
  });
});
