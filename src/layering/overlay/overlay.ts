import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { ENCAPSULATED_PATH } from '../../ignition/encapsulated.ts';
import { parseConfig, renderConfig } from '../../ignition/parse.ts';
import { decodeResource } from '../../ignition/resource.ts';
import type { File } from '../../ignition/types.ts';
import { nodeKeys } from '../node-keys.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';
import { NODE_ANNOTATIONS_PATH, readServedConfig } from '../served-config.ts';

/**
 * Lays an image over a served config, in the two places that name one: the machine boots into it, and says
 * so when it joins. It is what the machine-config-server of the cluster serves by itself once a machine of
 * the pool runs the image. Both change or none: a node that says another image than it boots is never done.
 * @throws AgentError `layering.served-config-invalid`, and as `parseConfig`
 */
export function overlayImage(served: Uint8Array | string, image: string): string {
  readServedConfig(served);
  const { config } = parseConfig(served);
  const files = (config.storage?.files ?? []).map((file) => {
    const overlay = overlays[file.path];
    return overlay === undefined ? file : withContent(file, overlay, image);
  });
  return renderConfig({ ...config, storage: { ...config.storage, files } });
}

type Overlay = (content: Members, image: string) => Members;

const overlays: Readonly<Record<string, Overlay>> = {
  // The server writes the annotations from a map, whose keys Go sorts.
  [NODE_ANNOTATIONS_PATH]: (annotations, image) =>
    Object.fromEntries(
      Object.entries({
        ...annotations,
        [nodeKeys.currentImage]: image,
        [nodeKeys.desiredImage]: image,
      }).sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
  [ENCAPSULATED_PATH]: (machineConfig, image) => ({
    ...machineConfig,
    spec: { ...membersOf(machineConfig['spec']), osImageURL: image },
  }),
};

function withContent(file: File, overlay: Overlay, image: string): File {
  const { contents = {} } = file;
  const text = Buffer.from(decodeResource(contents)).toString('utf8');
  const changed = JSON.stringify(overlay(membersOf(JSON.parse(text) as Value), image));
  const { source = '', compression = '' } = contents;
  const isPacked = compression === 'gzip';
  const bytes = isPacked ? gzipSync(changed) : Buffer.from(changed);
  // What else it says, a hash of the content, is of what was there.
  const told = compression === '' ? {} : { compression };
  return { ...file, contents: { ...told, source: encodeAs(source, bytes, isPacked) } };
}

/** A data URL of the same media type and encoding as another; bytes that are no text need base64. */
function encodeAs(source: string, bytes: Buffer, isBinary: boolean): string {
  const header = source.slice(0, source.indexOf(',') + 1);
  if (header.endsWith(';base64,')) return header + bytes.toString('base64');
  if (isBinary) return `${header.slice(0, -1)};base64,${bytes.toString('base64')}`;
  return header + encodeURIComponent(bytes.toString('utf8'));
}

const membersOf = (value: Value | undefined): Members => (isMembers(value) ? value : {});
