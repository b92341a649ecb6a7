/** The search, and filters that are chosen from lists. What is chosen is shown as chips below. */
import { ChevronDown, ListFilter, Search, X } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { recipientFacts, recipientStatuses, recipientTypes } from '../api/names.ts'
import { ActionIcon, Button, Menu, Select, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './emails.module.css'
import { type EmailsSearch, type Last, lastHours, testFilters } from './emails-search.ts'
import { queryLengthMax, readQuery } from './read-query.ts'
import type { Mailers } from './use-mailers.ts'
import { words } from './words.ts'

interface BarOptions {
  readonly search: EmailsSearch
  readonly mailers: Mailers
  readonly set: (
    change: { readonly [K in keyof EmailsSearch]: EmailsSearch[K] | undefined },
  ) => void
}

const firstEnd = recipientStatuses.indexOf('delivered')
const statusGroups = [
  ['waits', recipientStatuses.slice(0, firstEnd)],
  ['ended', recipientStatuses.slice(firstEnd)],
  ['facts', recipientFacts],
] as const

export function FilterBar({ search, mailers, set }: BarOptions) {
  const text = useWords(words)
  const [isMoreOpen, setMoreOpen] = useState(false)
  return (
    <div className={classes.bar}>
      <SearchBox q={search.q ?? ''} set={(q) => set({ q })} />
      <Choice label={text.status}>
        {statusGroups.map(([group, statuses]) => (
          <div key={group}>
            <Menu.Label>{text.statusGroups[group]}</Menu.Label>
            {statuses.map((status) => (
              <Menu.Item key={status} onClick={() => set({ status })}>
                {text.statuses[status]}
              </Menu.Item>
            ))}
          </div>
        ))}
      </Choice>
      <Choice label={text.mailer}>
        {(mailers.all ?? [])
          .filter(({ config_type }) => config_type !== 'imap')
          .map(({ mailer_id, name }) => (
            <Menu.Item key={mailer_id} onClick={() => set({ mailer: mailer_id })}>
              {name}
            </Menu.Item>
          ))}
      </Choice>
      <Choice label={text.accepted}>
        {(Object.keys(lastHours) as Last[]).map((last) => (
          <Menu.Item key={last} onClick={() => set({ last, from: undefined, to: undefined })}>
            {text.last[last]}
          </Menu.Item>
        ))}
      </Choice>
      <Button
        variant="default"
        leftSection={<ListFilter size={14} aria-hidden />}
        onClick={() => setMoreOpen(true)}
      >
        {text.moreFilters}
      </Button>
      {isMoreOpen && <MoreFilters search={search} set={set} close={() => setMoreOpen(false)} />}
    </div>
  )
}

function Choice({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Menu position="bottom-start" width={220}>
      <Menu.Target>
        <Button variant="default" rightSection={<ChevronDown size={14} aria-hidden />}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: 'auto' }}>
        {children}
      </Menu.Dropdown>
    </Menu>
  )
}

function SearchBox({ q, set }: { readonly q: string; readonly set: (q: string) => void }) {
  const text = useWords(words)
  const [typed, setTyped] = useState(q)
  useEffect(() => setTyped(q), [q])
  const query = readQuery(typed)
  const isNew = typed.trim() !== q.trim()
  return (
    <search className={classes.search}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          set(typed.trim())
        }}
      >
        <TextInput
          aria-label={text.search}
          placeholder={text.searchPlaceholder}
          type="text"
          maxLength={queryLengthMax}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          leftSection={<Search size={15} aria-hidden />}
          rightSection={
            typed === '' ? undefined : (
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={text.clearSearch}
                onClick={() => {
                  setTyped('')
                  set('')
                }}
              >
                <X size={14} aria-hidden />
              </ActionIcon>
            )
          }
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
        {isNew && query !== undefined && (
          <span className={classes.hint} role="status">
            {text.searchedBy[query.by]} <strong>{query.value}</strong>. {text.pressEnter}
          </span>
        )}
      </form>
    </search>
  )
}

const dayNames = ['from', 'to', 'deliveredFrom', 'deliveredTo'] as const

function MoreFilters({
  search,
  set,
  close,
}: Omit<BarOptions, 'mailers'> & { readonly close: () => void }) {
  const text = useWords(words)
  const [days, setDays] = useState(() =>
    Object.fromEntries(dayNames.map((name) => [name, search[name]?.slice(0, 10) ?? ''])),
  )
  const [campaign, setCampaign] = useState(search.campaign ?? '')
  const [reason, setReason] = useState(search.reason ?? '')
  const [type, setType] = useState(search.type ?? '')
  const [test, setTest] = useState<string>(search.test ?? '')
  const labels = {
    from: text.acceptedFrom,
    to: text.acceptedTo,
    deliveredFrom: text.deliveredFrom,
    deliveredTo: text.deliveredTo,
  }
  return (
    <Dialog title={text.moreFilters} isOpen close={close}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          const chosen = Object.fromEntries(
            Object.entries(days).map(([name, value]) => [name, value || undefined]),
          )
          const isTimed = chosen.from !== undefined || chosen.to !== undefined
          set({
            ...chosen,
            ...(isTimed && { last: undefined }),
            campaign: campaign.trim() || undefined,
            reason: reason.trim() || undefined,
            type: recipientTypes.find((one) => one === type),
            test: testFilters.find((one) => one === test),
          })
          close()
        }}
      >
        <div className={classes.pair}>
          {dayNames.map((name) => (
            <TextInput
              key={name}
              type="date"
              label={labels[name]}
              value={days[name] ?? ''}
              onChange={(event) => {
                const { value } = event.currentTarget
                setDays((before) => ({ ...before, [name]: value }))
              }}
            />
          ))}
        </div>
        <p className={classes.hint}>{text.dayHelp}</p>
        <div className={classes.pair}>
          <TextInput
            label={text.campaign}
            value={campaign}
            maxLength={255}
            autoComplete="off"
            onChange={(event) => setCampaign(event.currentTarget.value)}
          />
          <TextInput
            label={text.reason}
            value={reason}
            maxLength={998}
            autoComplete="off"
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <Select
            label={text.addressedBy}
            data={[{ value: '', label: '–' }, ...recipientTypes]}
            value={type}
            onChange={(value) => setType(value ?? '')}
          />
          <Select
            label={text.testMail}
            data={[
              { value: '', label: '–' },
              ...testFilters.map((one) => ({ value: one, label: text.testFilter[one] })),
            ]}
            value={test}
            onChange={(value) => setTest(value ?? '')}
          />
        </div>
        <DialogEnd confirm={text.apply} close={close} />
      </form>
    </Dialog>
  )
}
