import type { Environment } from '../config/environment.ts';
import type { CommandPath } from './commands.ts';
import { completionScripts } from './completion.ts';
import { runConfigSchema, runConfigShow, runConfigValidate } from './config.ts';
import { runJournal } from './journal.ts';
import { type BuildCommand, type ImageCall, runLayerBuild, runLayerPush } from './layer/build.ts';
import {
  type RollbackCall,
  runLayerRollback,
  runLayerUnpause,
  type UnpauseCall,
} from './layer/in-cluster.ts';
import { runLayerLint } from './layer/lint.ts';
import { type NameCall, runLayerName } from './layer/name.ts';
import { type RenderCall, runLayerRender } from './layer/render.ts';
import { runLayerStatus, type StatusCall } from './layer/status.ts';
import { print } from './messages.ts';
import { type NodeAction, type NodeOptions, runNode } from './node.ts';
import { runPlan } from './plan.ts';
import { runStatus } from './status.ts';

/** A command line that was parsed by the row of its command. */
export interface ParsedLine {
  /** Options by their names in camel case; a switch is true or false. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The values of the argument. */
  readonly values: readonly string[];
  /** Flags of an install, unread: they are read by the code of an install. */
  readonly argv: readonly string[];
  readonly environment: Environment;
}

type Handler = (line: ParsedLine) => Promise<number>;

/** What each command runs; resolves with the exit code. */
export const handlers: Readonly<Record<Exclude<CommandPath, 'install' | 'help'>, Handler>> = {
  plan: ({ options, ...line }) => runPlan({ ...line, ...formatOf(options) }),
  'config show': ({ options, ...line }) => runConfigShow({ ...line, ...formatOf(options) }),
  'config validate': ({ options, ...line }) => runConfigValidate({ ...line, ...formatOf(options) }),
  'config schema': () => Promise.resolve(runConfigSchema()),
  doctor: async ({ options, ...line }) => {
    const { runDoctor } = await import('./doctor/doctor.ts');
    return runDoctor({ ...line, ...formatOf(options) });
  },
  status: ({ options, ...line }) => runStatus({ ...line, ...formatOf(options) }),
  watch: async ({ argv, environment, options }) => {
    const { runWatch } = await import('./watch.ts');
    return runWatch({ argv, environment, ...(options as unknown as WatchOptions) });
  },
  journal: ({ options, ...line }) => runJournal({ ...line, ...formatOf(options) }),
  'logs read': async ({ values: [bundle = ''], options }) => {
    const { runLogsRead } = await import('./logs/read.ts');
    return runLogsRead(bundle, formatOf(options).format);
  },
  controller: withOptions(async (call: InPod) => {
    const { runController } = await import('./controller.ts');
    return runController(call);
  }),
  'layer lint': ({ values, options }) => runLayerLint(values, formatOf(options).format),
  'layer render': withOptions<RenderCall>(runLayerRender),
  'layer name': withOptions<NameCall>(runLayerName),
  'layer build': withOptions<BuildCommand>(runLayerBuild),
  'layer push': withOptions<ImageCall>(runLayerPush),
  'layer status': withOptions<StatusCall>(runLayerStatus),
  'layer rollback': withOptions<RollbackCall>(runLayerRollback),
  'layer unpause': withOptions<UnpauseCall>(runLayerUnpause),
  'node status': onNode('status'),
  'node apply': onNode('apply'),
  'node rollback': onNode('rollback'),
  'node agent': withOptions(async (call: InPod) => {
    const { runNodeAgent } = await import('./node-agent.ts');
    return runNodeAgent(call);
  }),
  'node controller': withOptions(async (call: InPod) => {
    const { runNodeController } = await import('./node-controller.ts');
    return runNodeController(call);
  }),
  completion: ({ values: [shell = ''] }) => {
    print(completionScripts[shell]?.() ?? '');
    return Promise.resolve(0);
  },
};

/** Options of `watch`. */
interface WatchOptions {
  readonly listen: string;
  readonly pageFile?: string;
}

/** Arguments of the programs that run in a pod. */
interface InPod {
  readonly environment: Environment;
  readonly metrics?: string;
  readonly kubeconfig?: string;
  readonly verbose: boolean;
}

/** The row of the command says which options there are, and its test that they are those of the call. */
function withOptions<Call>(run: (call: Call) => Promise<number>): Handler {
  return ({ options, environment }) => run({ ...options, environment } as Call);
}

function onNode(action: NodeAction): Handler {
  return ({ options, values: [image = ''], environment }) =>
    runNode({ ...(options as unknown as NodeOptions), action, image, environment });
}

const formatOf = (options: ParsedLine['options']): { readonly format: string } => ({
  format: String(options['format']),
});
