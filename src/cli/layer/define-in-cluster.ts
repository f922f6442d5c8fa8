import type { Command } from 'commander';
import { layerActions, listFormats } from '../commands.ts';
import type { ReadyCommand } from '../parse-command.ts';

/** Options of `layer status` as they are read. */
interface StatusOptions {
  readonly kubeconfig: string;
  readonly pool?: string;
  readonly format: string;
}

/** Options of `layer rollback` as they are read. */
interface RollbackOptions {
  readonly kubeconfig: string;
  readonly pool: string;
  readonly yes: boolean;
}

const kubeconfigHelp = 'file with the credentials of an administrator';

/** Declares what `layer` can do in a running cluster. */
export function defineInCluster(layer: Command, take: (run: ReadyCommand) => void): void {
  layer
    .command('status')
    .description(layerActions.status)
    .requiredOption('--kubeconfig <file>', kubeconfigHelp)
    .option('--pool <name>', 'this pool alone')
    .addOption(
      layer
        .createOption('--format <form>', 'form of the output')
        .choices([...listFormats])
        .default(listFormats[0]),
    )
    .action((options: StatusOptions) => {
      take(async () => {
        const { runLayerStatus } = await import('./status.ts');
        return runLayerStatus(options);
      });
    });
  layer
    .command('rollback')
    .description(layerActions.rollback)
    .requiredOption('--kubeconfig <file>', kubeconfigHelp)
    .requiredOption('--pool <name>', 'the pool that is to run the OS of its release again')
    .option('--yes', 'do it, and not only say what would happen', false)
    .action(({ kubeconfig, pool, yes }: RollbackOptions) => {
      take(async () => {
        const { runLayerRollback } = await import('./rollback.ts');
        return runLayerRollback({ kubeconfig, pool, isConfirmed: yes });
      });
    });
}
