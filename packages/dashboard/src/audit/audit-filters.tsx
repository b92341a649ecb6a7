/** The filters of an audit log, and what an entry says was changed. */
import type { AuditEntry } from '@postrider/client'
import { useSearchChange } from '../app/use-search-change.ts'
import { TextInput } from '../ui/controls.ts'
import type { ActiveFilter } from '../ui/filters.tsx'
import { Row } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { type AuditSearch, auditFilterNames } from './audit-search.ts'
import { words } from './words.ts'

/** `search`: all that the address holds; the rest of it stays. */
export function AuditFilters({ search }: { readonly search: AuditSearch }) {
  const text = useWords(words)
  const change = useSearchChange(search)
  return (
    <Row>
      {(['operation', 'actor', 'target'] as const).map((name) => (
        <TextInput
          key={`${name} ${search[name]}`}
          aria-label={text.names[name]}
          placeholder={text.hints[name]}
          defaultValue={search[name] ?? ''}
          onKeyDown={(event) => {
            if (event.key === 'Enter') change({ [name]: event.currentTarget.value.trim() })
          }}
        />
      ))}
      {(['start', 'end'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          leftSection={text.names[name]}
          leftSectionWidth={48}
          aria-label={text.names[name]}
          value={search[name] ?? ''}
          onChange={(event) => change({ [name]: event.currentTarget.value })}
        />
      ))}
    </Row>
  )
}

export function useActiveAuditFilters(search: AuditSearch): readonly ActiveFilter[] {
  const text = useWords(words)
  const change = useSearchChange(search)
  return auditFilterNames.flatMap((name) => {
    const value = search[name]
    const drop = () => change({ [name]: undefined })
    return value === undefined ? [] : [{ name: text.names[name], value, drop }]
  })
}

export function Changes({ changes }: Pick<AuditEntry, 'changes'>) {
  const text = useWords(words)
  const lines = (changes ?? []).map(({ path, before, after }) => {
    const name = path.split('/').at(-1)
    return `${name}: ${before ?? text.none} → ${after ?? text.none}`
  })
  const line = lines.join(', ')
  return line === '' ? '–' : <span title={lines.join('\n')}>{line}</span>
}
