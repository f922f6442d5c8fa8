import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { FoundRecord, leftName, leftNamespace, readRecord, recordRef } from './record.ts';

/** Reads which host left for this cluster. Where there is no record, all is done already. */
export const readLeftRecord = step({
  id: 'after-pivot/read-record',
  title: 'Read the record of the bootstrap host',
  uses: ['kube'],
  gives: FoundRecord,
  limit: minutes(5),
  run: async ({ kube, signal, note }) => {
    const found = await kube.get(recordRef, signal);
    if (found === undefined) {
      note('info', `there is no ConfigMap ${leftNamespace}/${leftName}: nothing to do`);
      return null;
    }
    const record = readRecord(found);
    note('info', `the bootstrap host joins as node ${record.node}`, {
      addresses: record.addresses.join(', '),
      isEtcdOverridden: record.isEtcdOverridden,
    });
    return record;
  },
});
