/** Where a search of the command bar leads. */
export interface SearchEntry {
  readonly label: string
  readonly to: string
  readonly search: Readonly<Record<string, string>>
}

export function searchEntries(o: {
  readonly query: string
  readonly tenantId: string | undefined
  readonly isOperator: boolean
  readonly words: {
    readonly searchEmails: (q: string) => string
    readonly searchAll: (q: string) => string
  }
}): SearchEntry[] {
  const q = o.query.trim()
  if (q === '') return []
  return [
    ...(o.tenantId === undefined
      ? []
      : [{ label: o.words.searchEmails(q), to: '/t/$tenantId/emails', search: { q } }]),
    ...(o.isOperator
      ? [{ label: o.words.searchAll(q), to: '/operator/search', search: { q } }]
      : []),
  ]
}
