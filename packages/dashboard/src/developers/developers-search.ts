/** What the address of the developers' page holds: the scope of a key that is to be made. */
import type { ApiKeyScope } from '@postrider/client'
import { apiKeyScopes } from '../api/names.ts'

export interface DevelopersSearch {
  /** `all`: it may do everything. */
  readonly scope?: ApiKeyScope | 'all'
}

export function readDevelopersSearch(search: Record<string, unknown>): DevelopersSearch {
  const scope = ([...apiKeyScopes, 'all'] as const).find((one) => one === search.scope)
  return scope === undefined ? {} : { scope }
}
