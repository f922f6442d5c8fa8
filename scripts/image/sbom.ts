import type { NodePackage } from '../parts/agent-image.ts';
import { addressOf, type NodeArchive } from './node-archive.ts';

/** A thing that is in the image, as CycloneDX 1.6 has it; what this file does not use is not named. */
export interface Component {
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly 'bom-ref': string;
  readonly purl?: string;
}

/** A bill of materials in CycloneDX's JSON. */
export interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

/**
 * The bill of materials of an image: what the bundle has by `@cyclonedx/cyclonedx-esbuild`, Node, and the packages that files
 * of the base are from, given as package URLs. Node's own modules, which esbuild sees as modules of the bundle, are in Node.
 */
export function imageSbom(
  bundle: Bom,
  node: NodePackage | NodeArchive,
  base: readonly string[],
): Bom {
  const virtual = new Set(
    bundle.components.map((one) => one['bom-ref']).filter((ref) => ref.startsWith('Virtual')),
  );
  const added = [nodeComponent(node), ...base.map(systemComponent)];
  const { component } = bundle.metadata;
  const dependencies = bundle.dependencies
    .filter(({ ref }) => !virtual.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: [
        ...dependsOn.filter((one) => !virtual.has(one)),
        ...(ref === component['bom-ref'] ? added.map((one) => one['bom-ref']) : []),
      ],
    }));
  return {
    ...bundle,
    components: [...bundle.components.filter((one) => !virtual.has(one['bom-ref'])), ...added],
    dependencies,
  };
}

/** Scanners know Node by its CPE, and the file by the checksum of the package or archive that it is from. */
function nodeComponent(node: NodePackage | NodeArchive): Component {
  const { name, version } = node;
  const isPackage = 'integrity' in node;
  const content = isPackage
    ? Buffer.from(node.integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
    : node.sha256;
  const purl = isPackage
    ? `pkg:npm/${name}@${version}`
    : `pkg:generic/node@${version}?download_url=${addressOf(node)}`;
  const cpe = `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:-:*:*:*`;
  const hashes = [{ alg: isPackage ? 'SHA-512' : 'SHA-256', content }];
  const licenses = [{ license: { id: 'MIT' } }];
  const known = { 'bom-ref': purl, version, hashes, licenses, cpe, purl };
  return { type: 'platform', name: 'node', ...known };
}

/** `pkg:deb/debian/libc6@2.41-12?arch=amd64` and its like (package-url/purl-spec). */
function systemComponent(purl: string): Component {
  const [, name, version] = /^pkg:[^/]+\/[^/]+\/([^@?]+)@([^?]+)/.exec(purl) ?? [];
  if (name === undefined || version === undefined) throw new Error(`not a package URL: ${purl}`);
  const named = { name: decodeURIComponent(name), version: decodeURIComponent(version) };
  return { type: 'library', ...named, 'bom-ref': purl, purl };
}
