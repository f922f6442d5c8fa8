import { describe, expect, it } from 'vitest';
import {
  builtDigest,
  laneConfig,
  laneHost,
  lanePool,
  laneRegistry,
  laneRendered,
} from '../../../test/layering/lane-host.ts';
import { machineConfigObject } from '../../../test/layering/samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { reasonOf } from '../../engine/failures.ts';
import { stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { AgentError } from '../../model/failure.ts';
import { buildImages } from './build-images.ts';

const facts = { rendered: laneRendered, registry: laneRegistry };
const config = { ...laneConfig, proxy: { https: 'http://user:hidden@proxy.example.com' } };
const run = (host = freshHost()) => ({ host, facts, config });
const scratch = `${stagingPlaces.scratch}/master`;
const builds = (host: ReturnType<typeof laneHost>) =>
  host.calls.filter(({ argv }) => argv.includes('build') && argv.at(-1)?.endsWith('/context'));

/** A host without a pushed image. */
function freshHost(...given: Parameters<typeof laneHost>) {
  const host = laneHost(...given);
  host.on(['skopeo', 'inspect', '--no-tags', rest]).fails(1, 'manifest unknown');
  return host;
}

describe('layering/build-images', () => {
  it.each([
    ['of the same stream', 'rhel-9', undefined],
    ['of another stream', 'rhel-10', 'layering.image-stream'],
  ])('builds only on a base of the OS stream of its pool: %s', async (...[, stream, code]) => {
    const host = freshHost();
    const labels = { 'io.openshift.os.streamclass': 'rhel-9' };
    const config = JSON.stringify({ architecture: 'amd64', config: { Labels: labels } });
    host.on(['skopeo', 'inspect', '--config', '--authfile', rest]).prints(config);
    const rendered = { kind: 'pools' as const, pools: [{ ...lanePool, stream }] };
    const fallback = { ...laneConfig, layering: { failurePolicy: 'fallback-stock' } } as const;
    const { failure } = await tryStep(buildImages, {
      ...run(host),
      facts: { ...facts, rendered },
      config: fallback,
    });
    expect((failure as AgentError | undefined)?.code).toBe(code);
    expect(builds(host).length > 0).toBe(code === undefined);
  });

  it('passes proxies without passwords and removes the credentials', async () => {
    const { host } = run();
    await runStep(buildImages, run(host));
    const [build] = builds(host);
    expect(build?.env).toMatchObject({
      CONTAINERS_REGISTRIES_CONF: `${scratch}/registries.conf`,
      TMPDIR: scratch,
    });
    expect(build?.argv.join(' ')).toContain('--build-arg HTTPS_PROXY --build-arg NO_PROXY');
    expect(JSON.stringify(host.ran)).not.toContain('hidden');
    expect([...host.files.keys()].filter((path) => path.includes('/auth/'))).toEqual([]);
  });

  it('writes the build context readable for root only', async () => {
    const { host } = run();
    await runStep(buildImages, run(host));
    const written = [...host.files].filter(([path]) => path.startsWith(`${scratch}/context/`));
    expect(written.map(([path]) => path)).toContain(
      `${scratch}/context/machineconfig/machineconfig.json.gz`,
    );
    expect(written.map(([, { mode }]) => mode)).toEqual(written.map(() => 0o600));
    const folders = [`${scratch}/context`, `${scratch}/context/machineconfig`];
    expect(host.ran).toContainEqual(['install', '--directory', '--mode', '0700', ...folders]);
  });

  it('uses the certificates and entitlement of the host and the policy of the MachineConfig', async () => {
    const bundle = { kind: 'ConfigMap', data: { 'ca-bundle.crt': 'CERTIFICATE' } };
    const files = [{ path: '/etc/containers/policy.json', contents: { source: 'data:,%7B%7D' } }];
    const served = { config: { ignition: { version: '3.5.0' }, storage: { files } } };
    const host = freshHost()
      .withFile(lanePool.file, JSON.stringify(machineConfigObject(served)))
      .withFile('/opt/openshift/manifests/user-ca-bundle-config.yaml', JSON.stringify(bundle))
      .withFile('/etc/pki/entitlement/1.pem', 'x')
      .withFile('/etc/rhsm/rhsm.conf', '')
      .withFile('/etc/yum.repos.d/README', '');
    await runStep(buildImages, run(host));
    expect(host.textOf(`${scratch}/context/openshift-config-user-ca-bundle.crt`)).toBe(
      'CERTIFICATE',
    );
    const argv = builds(host)[0]?.argv ?? [];
    expect(argv.join(' ')).toContain(`--signature-policy ${scratch}/policy.json `);
    expect(host.textOf(`${scratch}/policy.json`)).toBe('{}');
    const copies = `${scratch}/entitlement/etc`;
    expect(argv.filter((_, index) => argv[index - 1] === '--volume')).toEqual([
      `${copies}/pki/entitlement:/etc/pki/entitlement:rw`,
      `${copies}/rhsm:/run/secrets/rhsm:rw`,
    ]);
  });

  it('does not rebuild an image that an earlier run verified and pushed', async () => {
    const host = laneHost();
    host.on(['skopeo', 'inspect', '--no-tags', rest]).prints(builtDigest);
    const { value } = await runStep(buildImages, run(host));
    expect(value).toMatchObject({ pools: [{ digest: builtDigest }] });
    expect(builds(host)).toEqual([]);
  });

  it.each([
    ['again after a network error', 'layering.build-cut-off', 'Curl error (28): Timeout', 2],
    [
      'only once after a build error',
      'layering.build-failed',
      'error: Packages not found: httpdd\nError: while running runtime: exit status 1',
      1,
    ],
  ])('runs a build %s', async (...[, code, stderr, times]) => {
    const host = freshHost().on(['podman', '--root', rest]).fails(1, stderr);
    const { failure } = await tryStep(buildImages, run(host));
    expect(failure).toMatchObject({ code, context: { log: `${scratch}/build.log` } });
    expect(builds(host)).toHaveLength(times);
    expect(host.textOf(`${scratch}/build.log`)).toContain(stderr);
    for (const line of stderr.split('\n')) expect(String(failure)).toContain(line);
  });

  it('does not repeat the last lines of a failed build as its reason', async () => {
    const lines = Array.from({ length: 9 }, (_, at) => `line ${at} of dnf`);
    const host = freshHost().on(['podman', '--root', rest]).fails(1, lines.join('\n'));
    const { failure } = await tryStep(buildImages, run(host));
    expect(String(failure)).toContain('line 5 of dnf');
    expect(String(failure)).not.toContain('line 3 of dnf');
    expect(reasonOf(failure)).toBeUndefined();
  });

  it('fails a build that takes too long', async () => {
    const clock = fakeClock();
    const host = freshHost(clock).on(['podman', '--root', rest]).hangs();
    const { failure } = await tryStep(buildImages, { ...run(host), clock });
    expect(failure).toMatchObject({
      code: 'layering.build-too-long',
      message: expect.stringContaining('30 min') as string,
    });
  });

  it('does not push an image without its labels', async () => {
    const host = freshHost();
    host.on(['skopeo', 'inspect', '--config', rest]).prints('{"architecture":"amd64"}');
    const { failure } = await tryStep(buildImages, run(host));
    expect(failure).toMatchObject({ code: 'layering.image-label-missing' });
    expect(host.ran.some((argv) => argv.includes('push'))).toBe(false);
  });

  it.each([
    ['is not pushed', 'that the base does not have', ''],
    ['is pushed with a warning', 'that its base has too', 'bootwright-saw lint failed\n'],
  ])('an image %s when bootc lint reports findings %s', async (...[, , ofBase]) => {
    const host = freshHost();
    const usual = laneHost();
    host.on(['podman', '--root', rest]).answers(async (argv) => {
      const isPollResult = argv.at(-1)?.endsWith('/look') === true;
      if (!isPollResult) {
        if (argv.includes('push'))
          host.on(['skopeo', 'inspect', '--no-tags', rest]).prints(builtDigest);
        if (argv.includes('push')) host.withFile(`${scratch}/digest`, builtDigest);
        return '';
      }
      const { stdout } = await usual.exec(argv, { signal: new AbortController().signal, limit: 1 });
      const isBase = !host.textOf(`${scratch}/look/Containerfile`)!.includes('bootwright/os-');
      return `${isBase ? ofBase : 'bootwright-saw lint failed\nbootwright-saw lint-says /usr/etc\n'}${stdout}\n`;
    });
    const { failure, notes } = await tryStep(buildImages, run(host));
    const code = failure instanceof AgentError ? failure.code : undefined;
    expect(code).toBe(ofBase === '' ? 'layering.image-lint' : undefined);
    expect(
      notes.includes('warn: bootc container lint reports findings that the base image has too'),
    ).toBe(ofBase !== '');
    expect(host.ran.some((argv) => argv.includes('push'))).toBe(ofBase !== '');
  });

  it.each([
    ['is inspected again', 2, undefined],
    ['is not pushed', 3, 'layering.image-unreadable'],
  ])('an image %s when %d inspections are cut off', async (...[, lost, code]) => {
    const host = freshHost();
    const usual = laneHost();
    let times = 0;
    host.on(['podman', '--root', rest]).answers(async (argv) => {
      if (argv.includes('push')) {
        host.on(['skopeo', 'inspect', '--no-tags', rest]).prints(builtDigest);
        host.withFile(`${scratch}/digest`, builtDigest);
      }
      if (argv.at(-1)?.endsWith('/look') !== true) return '';
      const { stdout } = await usual.exec(argv, { signal: new AbortController().signal, limit: 1 });
      times += 1;
      return times <= lost ? stdout.replace('bootwright-saw end', '') : stdout;
    });
    const { failure } = await tryStep(buildImages, run(host));
    expect(failure instanceof AgentError ? failure.code : undefined).toBe(code);
    expect(times).toBe(3);
    expect(host.ran.some((argv) => argv.includes('push'))).toBe(code === undefined);
  });

  it('fails without a build program', async () => {
    const host = freshHost().on(['podman', '--version']).isMissing();
    expect((await tryStep(buildImages, run(host))).failure).toMatchObject({
      code: 'layering.no-builder',
    });
  });
});
