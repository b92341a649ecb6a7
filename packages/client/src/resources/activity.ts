/** What became of emails (spec §4.3; contract §3.6, §5). */
import type {
  EmailLog,
  ExportEmailLogsQuery,
  GetEmailAnswer,
  GetEmailLogsAnswer,
  GetEmailLogsQuery,
  GetEmailQuery,
  GetStatisticsAnswer,
  GetStatisticsQuery,
} from '@postrider/contract'
import { eachEntry, type PagedList, pagedList } from '../core/pages.ts'
import type { Open, RequestOptions, Send } from '../core/request.ts'
import type { WithTimes } from '../core/times.ts'

export type GetEmailLogsInput = WithTimes<
  GetEmailLogsQuery,
  'startCreatedAt' | 'endCreatedAt' | 'startDeliveredDate' | 'endDeliveredDate'
>

export function getEmailLogs(
  send: Send,
  filter: GetEmailLogsInput = {},
  options?: RequestOptions,
): PagedList<GetEmailLogsAnswer, EmailLog> {
  const { pageToken: first, ...rest } = filter
  const pageAt = (pageToken: string | undefined): Promise<GetEmailLogsAnswer> => {
    const query = pageToken === undefined ? rest : { ...rest, pageToken }
    return send({ method: 'GET', path: '/v1/email/logs', query }, options)
  }
  return pagedList(
    () => pageAt(first),
    () =>
      eachEntry(
        first,
        async (pageToken) => {
          const { logs, nextPageToken } = await pageAt(pageToken)
          return { entries: logs, nextPageToken }
        },
        options,
      ),
  )
}

export type ExportEmailLogsInput = WithTimes<
  ExportEmailLogsQuery,
  'startCreatedAt' | 'endCreatedAt' | 'startDeliveredDate' | 'endDeliveredDate'
>

export function exportEmailLogs(
  open: Open,
  filter: ExportEmailLogsInput,
  options?: RequestOptions,
): Promise<ReadableStream<Uint8Array>> {
  return open({ method: 'GET', path: '/v1/email/logs/export', query: filter }, options)
}

export function getEmail(
  send: Send,
  refId: string,
  filter: GetEmailQuery = {},
  options?: RequestOptions,
): Promise<GetEmailAnswer> {
  const path = '/v1/email/{ref_id}'
  return send({ method: 'GET', path, parameters: { ref_id: refId }, query: filter }, options)
}

export type GetStatisticsInput = WithTimes<GetStatisticsQuery, 'start' | 'end'>

export function getStatistics(
  send: Send,
  filter: GetStatisticsInput = {},
  options?: RequestOptions,
): Promise<GetStatisticsAnswer> {
  return send({ method: 'GET', path: '/v1/statistics', query: filter }, options)
}
