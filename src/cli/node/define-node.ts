import type { Command } from 'commander';
import { commands, listFormats, nodeActions } from '../commands.ts';
import type { ReadyCommand } from '../parse-command.ts';
import type { CommandCall } from '../program.ts';

/** Options of all commands of a node. */
interface NodeOptions {
  readonly format: string;
  readonly verbose: boolean;
  readonly runs?: string;
  readonly record?: boolean;
  readonly reboot?: boolean;
  readonly inBoot?: string;
  readonly appendKarg?: readonly string[];
  readonly deleteKarg?: readonly string[];
}

/** Declares `node` with its actions. */
export function defineNode(
  root: Command,
  { call, take }: { readonly call: CommandCall; readonly take: (run: ReadyCommand) => void },
): void {
  const node = root.command('node').description(commands.node);
  const declare = (action: keyof typeof nodeActions): Command =>
    node
      .command(action)
      .description(nodeActions[action])
      .addOption(
        root
          .createOption('--format <form>', 'form of the output')
          .choices([...listFormats])
          .default(listFormats[0]),
      )
      .option('--verbose', 'log every command', false);
  const ready = (action: keyof typeof nodeActions, options: NodeOptions, image = ''): void => {
    take(async () => {
      const { runNode } = await import('./run-node.ts');
      return runNode({
        action,
        order: {
          image,
          records: options.record === true,
          reboots: options.reboot === true,
          kernelArguments: { append: options.appendKarg ?? [], remove: options.deleteKarg ?? [] },
        },
        ...(options.runs === undefined ? {} : { expected: options.runs }),
        ...(options.inBoot === undefined ? {} : { inBoot: options.inBoot }),
        format: options.format,
        isVerbose: options.verbose,
        environment: call.environment,
      });
    });
  };
  declare('status')
    .option('--runs <image>', 'fail unless the host runs this image')
    .action((options: NodeOptions) => ready('status', options));
  declare('apply')
    .argument('<image>', 'HOST/PATH:TAG or HOST/PATH@sha256:DIGEST')
    .option('--record', 'write the image down for the Machine Config Daemon', false)
    .option('--reboot', 'restart the host at the end, if that makes a difference', false)
    .option('--in-boot <id>', 'do nothing once the host has started anew since this boot')
    .option('--append-karg <argument>', 'a kernel argument that is to be there', collect)
    .option('--delete-karg <argument>', 'a kernel argument that is to be gone', collect)
    .action((image: string, options: NodeOptions) => ready('apply', options, image));
  declare('rollback')
    .option('--reboot', 'restart the host at the end, if that makes a difference', false)
    .action((options: NodeOptions) => ready('rollback', options));
}

const collect = (value: string, earlier: readonly string[] = []): readonly string[] => [
  ...earlier,
  value,
];
