/** Ctrl-K or Cmd-K: to a page, or a search. */
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight'
import '@mantine/spotlight/styles.layer.css'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { useState } from 'react'
import { isOperator, useSession } from '../session/session.ts'
import { useKeys } from '../ui/keys.ts'
import { useWords } from '../words/define-words.ts'
import classes from './command.module.css'
import { searchEntries } from './command-search.ts'
import { KeyHelp } from './key-help.tsx'
import { useNavGroups } from './use-nav-groups.ts'
import { words } from './words.ts'

const gotoKeys = { o: 'overview', e: 'emails', m: 'mailers', w: 'webhooks', l: 'live' } as const

export function CommandButton() {
  const text = useWords(words)
  const session = useSession()
  const navigate = useNavigate()
  const { tenantId } = useParams({ strict: false })
  const [query, setQuery] = useState('')
  const [isHelpOpen, setHelpOpen] = useState(false)
  const entries = useNavGroups().flatMap((group) => group.entries)
  const open = (to: string) =>
    navigate({ to, ...(tenantId !== undefined && { params: { tenantId } }) } as never)
  useKeys({
    '/': spotlight.open,
    '?': () => setHelpOpen(true),
    ...Object.fromEntries(
      Object.entries(gotoKeys).map(([key, name]) => {
        const entry = entries.find((one) => one.name === name)
        return [`g ${key}`, entry && (() => void open(entry.to))]
      }),
    ),
  })
  const pages: SpotlightActionData[] = entries.map(({ name, icon: Icon, to }) => ({
    id: name,
    label: text.nav[name],
    leftSection: <Icon size={16} aria-hidden />,
    onClick: () => void open(to),
  }))
  const searches: SpotlightActionData[] = searchEntries({
    query,
    tenantId,
    isOperator: isOperator(session),
    words: text,
  }).map(({ label, to, search }) => ({
    id: label,
    label,
    leftSection: <Search size={16} aria-hidden />,
    // It fits whatever was typed.
    keywords: query,
    onClick: () =>
      void navigate({
        to,
        search,
        ...(tenantId !== undefined && { params: { tenantId } }),
      } as never),
  }))
  return (
    <>
      <button type="button" className={classes.button} onClick={spotlight.open}>
        <Search size={15} aria-hidden />
        <span className={classes.text}>{text.command}</span>
        <kbd className={classes.key}>Ctrl K</kbd>
      </button>
      <Spotlight
        actions={[...pages, ...searches]}
        query={query}
        onQueryChange={setQuery}
        nothingFound={text.commandNothing}
        highlightQuery
        scrollable
        maxHeight={420}
        searchProps={{
          leftSection: <Search size={16} aria-hidden />,
          placeholder: text.commandPlaceholder,
          'aria-label': text.command,
        }}
      />
      <KeyHelp isOpen={isHelpOpen} close={() => setHelpOpen(false)} />
    </>
  )
}
