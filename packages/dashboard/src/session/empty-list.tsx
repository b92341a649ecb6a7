/** An empty list: what it is for, one button, the same by a program, and which key those lines need. */
import { Link } from '@tanstack/react-router'
import type { ComponentProps } from 'react'
import { exampleHost, type Snippets } from '../developers/snippets-of.ts'
import { words as keyWords } from '../developers/words.ts'
import { Empty } from '../ui/answers.tsx'
import { useWords } from '../words/define-words.ts'
import { permissions } from './permissions.ts'
import { useTenant } from './use-tenant.ts'
import { words } from './words.ts'

type EmptyOptions = Omit<ComponentProps<typeof Empty>, 'curl' | 'typescript' | 'note'>

export function EmptyList({ snippets, ...o }: EmptyOptions & { readonly snippets: Snippets }) {
  const { curl, typescript } = snippets
  return <Empty {...o} curl={curl} typescript={typescript} note={<Needs {...snippets} />} />
}

function Needs({ operation, needs, curl }: Snippets) {
  const text = useWords(words)
  const { scopeNames } = useWords(keyWords)
  const { may, tenantId } = useTenant()
  const scope = needs ?? permissions[operation]?.scope
  const isOwnHost = curl.includes(exampleHost)
  return (
    <p>
      {scope === undefined
        ? text.needsToken
        : scope === 'all' || scope === 'test'
          ? text.needsKey[scope]
          : text.needsScope(scopeNames[scope])}{' '}
      {scope !== undefined && scope !== 'test' && may('createKey') && (
        <Link to="/t/$tenantId/developers" params={{ tenantId }} search={{ scope }}>
          {text.makeKey}
        </Link>
      )}
      {isOwnHost && ` ${text.ownHost(exampleHost)}`}
    </p>
  )
}
