import { type Millis, seconds } from '../../model/duration.ts';

/** A waiting host sends at most two requests a minute, so that hundreds can wait at once. */
export const perRequest: Millis = seconds(30);

/**
 * What the first poll may cost: the cluster, the masters, the arbiters, and the report of the status.
 * It does not count against later polls, so that there is no gap after it.
 */
const firstPoll = 4;

/** Spreads requests over polls that come every `perRequest`; each poll earns one. */
export interface RequestBudget {
  /** Whether this poll may send requests; called once for each poll. */
  readonly mayAsk: () => boolean;
  /** A request was sent. */
  readonly spend: () => void;
}

/** A budget that allows requests in the first poll. */
export function requestBudget(): RequestBudget {
  let credit = firstPoll;
  let isFirst = true;
  return {
    mayAsk: () => {
      if (!isFirst) credit = Math.min(1, credit + 1);
      isFirst = false;
      return credit > 0;
    },
    spend: () => {
      credit -= 1;
    },
  };
}
