/**
 * What a rescue asks for, checked: each refusal names its path (docs/reference/sending.md#rescue, "Log
 * filters").
 */
import {
  type FieldError,
  type RescuableStatus,
  type RescueEmailsBody,
  rescuableStatuses,
} from '@postrider/contract'
import { validationError } from '../../platform/errors.ts'
import { isUlid } from '../../platform/ids.ts'
import { type EmailSelection, readEmailFilters } from '../accept/read-filters.ts'

export interface RescueSelection extends Omit<EmailSelection, 'refId'> {
  /** Undefined: whatever the email; empty: none. */
  readonly refIds: readonly string[] | undefined
  readonly statuses: readonly RescuableStatus[]
}

export function readRescue({ ref_ids: given, filter }: RescueEmailsBody): RescueSelection {
  if (given === undefined && filter === undefined)
    throw validationError({ path: '/filter', message: 'is required where no ref_ids are given' })
  const errors: FieldError[] = []
  for (const [i, id] of (given ?? []).entries())
    if (!isUlid(id))
      errors.push({ path: `/ref_ids/${i}`, message: 'must be the reference id of an email' })
  const { refId, ...selection } = readEmailFilters(filter ?? {}, '/filter', errors)
  if (errors.length > 0) throw validationError(...errors)
  return {
    ...selection,
    refIds: refIdsOf(given, refId),
    statuses: filter?.status === undefined ? rescuableStatuses : [filter.status],
  }
}

function refIdsOf(
  given: readonly string[] | undefined,
  refId: string | undefined,
): readonly string[] | undefined {
  if (refId === undefined) return given && [...new Set(given)]
  return given === undefined || given.includes(refId) ? [refId] : []
}
