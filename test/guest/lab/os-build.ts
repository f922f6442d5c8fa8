// The image of a user's MachineOSConfig, built by the product's commands while a virtual machine is
// installed.
import {
  type GuestRegistry,
  type LayeredImage,
  startGuestRegistry,
} from '../install/guest-registry.ts';
import type { FinalOs } from '../install/ignition.ts';
import { layerCommands } from '../install/layer-commands.ts';
import { type AgentFailure, failureIn } from '../../../mocks/lab/agent.ts';
import { readOne } from '../../../src/cli/layer/files.ts';
import { readMachineOSConfig } from '../../../src/layering/api/os-config.ts';

/** A MachineOSConfig of the masters. */
export interface OsBuildRequest {
  readonly file: string;
  /** Where the user would have the image pushed to. */
  readonly pushSpec: string;
  /** The same, as JSON, whose image goes to another repository. */
  readonly textFor: (repository: string) => string;
}

/** The pool of the machine that is installed. */
const pool = 'master';

/**
 * Reads the MachineOSConfig that a file holds.
 * @throws AgentError `config.file-not-read`, `layering.*`; RangeError for another pool than that of
 * masters
 */
export async function readBuildRequest(file: string): Promise<OsBuildRequest> {
  const source = await readOne(file, 'MachineOSConfig');
  const { spec } = readMachineOSConfig(source);
  if (spec.machineConfigPool.name !== pool) {
    const place = source.place(['spec', 'machineConfigPool', 'name']);
    throw new RangeError(
      `${place}: the virtual machine is a master: write ${pool}, not ${spec.machineConfigPool.name}`,
    );
  }
  const { value } = source;
  return {
    file,
    pushSpec: spec.renderedImagePushSpec,
    textFor: (repository) => {
      const ordered = { ...spec, renderedImagePushSpec: `${repository}:latest` };
      return JSON.stringify({ ...value, spec: ordered });
    },
  };
}

/** A build that continues; disposing of it ends it, and the registry. */
export interface OsBuild extends AsyncDisposable {
  /** Bash that lets a host pull the image. */
  readonly before: string;
  /** Its current activity, for people. */
  readonly doing: () => string;
  /** The image, once it is pushed. */
  readonly image: () => LayeredImage | undefined;
  /** The image that the cluster wants on its nodes, once it is pushed. */
  readonly finalOs: () => FinalOs | undefined;
  /** Why the build failed. */
  readonly failure: () => AgentFailure | undefined;
}

/** The build, its place and its listener. */
interface OsBuildPlan {
  readonly request: OsBuildRequest;
  /** For images, files and the registry. */
  readonly folder: string;
  /** Called when the image cannot be built. */
  readonly onFailure: () => void;
}

/**
 * Starts the registry, and the build without waiting for it. The parts and the bundle must be
 * there.
 */
export async function startOsBuild({ request, folder, onFailure }: OsBuildPlan): Promise<OsBuild> {
  const stop = new AbortController();
  const registry = await startGuestRegistry(folder);
  let doing = 'pushing the system of the release to the registry';
  let image: LayeredImage | undefined;
  let failure: AgentFailure | undefined;
  const said: string[] = [];
  const print = (line: string): void => {
    said.push(line);
    doing = line;
  };
  const build = async (): Promise<void> => {
    try {
      image = await builtImage(registry, { request, print, signal: stop.signal });
      doing = `pushed ${image.image}`;
    } catch (error) {
      failure = failureOf(error, said);
      doing = `${failure.code}: ${failure.message}`;
      if (!stop.signal.aborted) onFailure();
    }
  };
  const built = build();
  return {
    before: registry.before,
    doing: () => `image of pool master: ${doing}`,
    image: () => image,
    finalOs: () => image && { osImageURL: image.image, kernelArguments: [] },
    failure: () => failure,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await built;
      await registry[Symbol.asyncDispose]();
    },
  };
}

interface Building extends Pick<OsBuildPlan, 'request'> {
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

async function builtImage(
  registry: GuestRegistry,
  { request, print, signal }: Building,
): Promise<LayeredImage> {
  const release = await registry.pushRelease();
  signal.throwIfAborted();
  const { push } = layerCommands(registry.work, release, {
    osConfig: (repository) => request.textFor(repository),
    print,
    signal,
  });
  return registry.served(await push(pool));
}

/** The product's own words, where it was the product that failed. */
function failureOf(error: unknown, said: readonly string[]): AgentFailure {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') {
    return failureIn(said.join('\n'), { exitCode: code, signal: undefined });
  }
  return { code: 'lab', message: error instanceof Error ? error.message : String(error) };
}
