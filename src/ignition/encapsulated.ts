import * as z from 'zod';
import { ignitionFailure } from './failures.ts';
import { parseJson } from './json.ts';
import { decodeResource } from './resource.ts';

/**
 * Path of the MachineConfig, without its Ignition part, in the configs of the Machine Config Server
 * (machine-config-operator, `pkg/server`).
 */
export const ENCAPSULATED_PATH = '/etc/ignition-machine-config-encapsulated.json';

/** The operating system that the first boot switches to. */
export interface EncapsulatedMachineConfig {
  /** Pull spec of the operating system image. */
  readonly osImageURL: string;
  readonly kernelArguments: readonly string[];
}

const Rendered = z.object({
  storage: z.object({
    files: z.array(
      z.object({
        path: z.string(),
        contents: z
          .object({ source: z.string().optional(), compression: z.string().optional() })
          .default({}),
      }),
    ),
  }),
});

const MachineConfig = z.object({
  spec: z.object({
    osImageURL: z.string().min(1),
    kernelArguments: z.array(z.string()).default([]),
  }),
});

/**
 * Finds the encapsulated MachineConfig in a rendered config. The spec version does not matter: the
 * server answers a request without an Accept header with 2.2.
 *
 * @throws AgentError `ignition.empty`, `ignition.html-page`, `ignition.not-json`,
 * `ignition.encapsulated-missing`, `ignition.encapsulated-invalid`, and those of `decodeResource`
 */
export function readEncapsulated(rendered: Uint8Array | string): EncapsulatedMachineConfig {
  const files = Rendered.safeParse(parseJson(rendered)).data?.storage.files ?? [];
  const file = files.find(({ path }) => path === ENCAPSULATED_PATH);
  if (file === undefined) {
    const message = `rendered ignition config has no file ${ENCAPSULATED_PATH}`;
    throw ignitionFailure('ignition.encapsulated-missing', message);
  }
  const bytes = decodeResource(file.contents);
  let json: unknown;
  try {
    json = parseJson(bytes);
  } catch (cause) {
    const message = 'encapsulated machine config is not JSON';
    throw ignitionFailure('ignition.encapsulated-invalid', message, { cause });
  }
  const parsed = MachineConfig.safeParse(json);
  if (parsed.success) return parsed.data.spec;
  const member = parsed.error.issues[0]?.path.join('.') ?? '';
  const what = `encapsulated machine config has no usable ${member}`;
  throw ignitionFailure('ignition.encapsulated-invalid', what, { context: { member } });
}
