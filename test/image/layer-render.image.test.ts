import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openContainerStore, withImageRoot } from '../support/container-store.ts';
import { runLayerRender } from '../../src/cli/layer/render.ts';
import { lintContainerfile } from '../../src/layering/containerfile/lint.ts';
import { buildLayeringBase } from './lane/layering-base.ts';

const store = openContainerStore();
const base = 'localhost/bootwright-test:layering-base';
const image = 'localhost/bootwright-test:layered';
const renderedName = `rendered-worker-${'1'.repeat(32)}`;

const machineConfig = {
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name: renderedName },
  spec: {
    osImageURL: base,
    config: {
      ignition: { version: '3.2.0' },
      storage: {
        files: [{ path: '/etc/from-the-pool', mode: 420, contents: { source: 'data:,pool%0A' } }],
      },
      systemd: {
        units: [
          {
            name: 'pool.service',
            enabled: true,
            contents: '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n',
          },
        ],
      },
    },
  },
};

const osConfig = (content: string): object => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineOSConfig',
  metadata: { name: 'worker' },
  spec: {
    machineConfigPool: { name: 'worker' },
    imageBuilder: { imageBuilderType: 'Job' },
    renderedImagePushSecret: { name: 'push' },
    renderedImagePushSpec: 'registry.example.com/ocl/worker:latest',
    containerFile: [{ content }],
  },
});

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-layer-'));
  await buildLayeringBase(store, join(folder, 'base'), base);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function renderContext(content: string): Promise<string> {
  const files = { osConfig: join(folder, 'os.yaml'), renderedConfig: join(folder, 'mc.json') };
  const out = mkdtempSync(join(folder, 'out-'));
  writeFileSync(files.osConfig, JSON.stringify(osConfig(content)));
  writeFileSync(files.renderedConfig, JSON.stringify(machineConfig));
  expect(await runLayerRender({ ...files, out })).toBe(0);
  return out;
}

describe('a rendered build context', () => {
  it.each([
    ['a stage of its own', 'FROM configs AS final\n'],
    ['no FROM: it continues the last stage of the operator', ''],
  ])(
    'is built by plain podman, and has what the pool and the user asked for, with %s',
    async (_, from) => {
      const content = `${from}RUN cp /etc/from-the-pool /usr/share/by-the-user && \\\n\tostree container commit\n`;
      const out = await renderContext(content);

      await store.run('podman', 'build', '--isolation', 'chroot', '--tag', image, out);

      const [made] = JSON.parse(await store.run('podman', 'image', 'inspect', image)) as object[];
      expect(made).toMatchObject({
        Labels: {
          machineconfig: renderedName,
          machineconfigpool: 'worker',
          baseOSContainerImage: base,
        },
      });
      await withImageRoot(store, image, (root) => {
        const read = (path: string): string => readFileSync(join(root, path), 'utf8');
        expect(JSON.parse(read('/etc/machine-config-daemon/currentconfig'))).toEqual(machineConfig);
        expect(read('/etc/from-the-pool')).toBe('pool\n');
        // The context is for its owner alone; the certificates of the image are for every program.
        const anchors = join(root, '/etc/pki/ca-trust/source/anchors');
        expect(
          readdirSync(anchors).map((name) => statSync(join(anchors, name)).mode & 0o777),
        ).toEqual([0o644]);
        expect(read('/usr/share/by-the-user')).toBe('pool\n');
        expect(read('/etc/systemd/system/pool.service')).toContain('ExecStart=/bin/true');
        expect(read('/etc/systemd/system-preset/20-ignition.preset')).toContain(
          'enable pool.service',
        );
        expect(read('/usr/lib/tmpfiles.d/layered-packages.conf')).toContain(
          'd /var/lib/ipsec/nss ',
        );
        const commit = 'ostree container commit';
        expect(read('/usr/share/calls').trim().split('\n')).toEqual([
          commit,
          'update-ca-trust ',
          commit,
          commit,
        ]);
        const left = ['/tmp/config.ign', '/tmp/machineconfig.json.gz'];
        expect(left.filter((path) => existsSync(join(root, path)))).toEqual([]);
        return Promise.resolve();
      });
    },
  );

  it.each([
    [`ARG BASE=${base}\nFROM \${BASE} AS tools`, false],
    [`FROM \${BASE:-${base}} AS tools`, true],
    [`FROM ${base} AS tools\nARG BASE`, true],
  ])('has a FROM that podman and the lint judge alike: %j', async (tools, isBuilt) => {
    const rest = [
      'RUN touch /usr/share/tool',
      'FROM configs AS final',
      'COPY --from=tools /usr/share/tool /usr/share/tool',
      'RUN ostree container commit',
    ].join('\n');
    const found = lintContainerfile(`${tools}\n${rest}\n`);
    expect(found.some(({ severity }) => severity === 'error')).toBe(!isBuilt);

    // What the lint refuses is not rendered, so it is put into a context afterwards.
    const accepted = `FROM ${base} AS tools`;
    const out = await renderContext(`${accepted}\n${rest}\n`);
    const file = join(out, 'Containerfile');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(accepted, () => tools),
    );
    const build = store.run('podman', 'build', '--isolation', 'chroot', out);
    expect(
      await build.then(
        () => true,
        (error: unknown) => String(error),
      ),
    ).toEqual(isBuilt || expect.stringContaining('no FROM statement found'));
  });
});
