/** Events as they are committed, and each exactly as a webhook gets it. */
import type { ListedEvent } from '@postrider/client'
import { Link, useSearch } from '@tanstack/react-router'
import { memo, useEffect, useRef, useState } from 'react'
import { eventNames } from '../api/names.ts'
import { useSearchChange } from '../app/use-search-change.ts'
import { TestMail } from '../emails/test-mail.tsx'
import { TestMark } from '../emails/test-mark.tsx'
import { useMailers } from '../emails/use-mailers.ts'
import { words as emailWords } from '../emails/words.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Banner } from '../ui/banner.tsx'
import { breakable } from '../ui/breakable.ts'
import { Button, Select, TextInput } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { type ActiveFilter, NothingMatches } from '../ui/filters.tsx'
import { Card, Page, Row } from '../ui/page.tsx'
import { StateMark, stateIcons, type Tone } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import {
  addEvents,
  type EventList,
  emptyList,
  eventsKeptMax,
  gatherEvents,
  isTest,
  recipientOf,
  textOf,
} from './event-list.ts'
import { EventMark } from './event-mark.tsx'
import { type FeedState, followEvents } from './live-feed.ts'
import classes from './live-page.module.css'
import type { LiveSearch } from './live-search.ts'
import { streamSnippets } from './snippets.ts'
import { words } from './words.ts'

const stateTones: Readonly<Record<FeedState, Tone>> = {
  connecting: 'info',
  live: 'good',
  reconnecting: 'bad',
  polling: 'warn',
}

/** Rows that are drawn. */
const shownMax = 200

export function LivePage() {
  const text = useWords(words)
  const format = useFormat()
  const search = useSearch({ from: '/shell/t/$tenantId/live' })
  const [isPaused, setPaused] = useState(false)
  const feed = useFeed(isPaused)
  const [chosen, setChosen] = useState<string>()
  const shown = feed.list.events.filter((event) => fits(event, search)).slice(0, shownMax)
  const detail = feed.list.events.find(({ event_id }) => event_id === chosen)
  const filters = useFilters(search)
  return (
    <Page
      title={text.live}
      lead={text.lead}
      actions={
        <Row>
          {isPaused ? (
            <StateMark tone="muted" icon={stateIcons.pause}>
              {text.states.paused}
            </StateMark>
          ) : (
            <span role="status">
              <StateMark tone={stateTones[feed.state]}>{text.states[feed.state]}</StateMark>
            </span>
          )}
          <Button variant="default" onClick={() => setPaused(!isPaused)}>
            {isPaused ? text.goOn : text.pause}
          </Button>
        </Row>
      }
    >
      <Filters search={search} />
      {isPaused && feed.waiting > 0 && (
        <Banner
          tone="info"
          word={text.states.paused}
          title={text.waiting(feed.waiting, format.integer(feed.waiting))}
        >
          {feed.waiting >= eventsKeptMax ? text.bounded(format.integer(eventsKeptMax)) : null}
        </Banner>
      )}
      {feed.gap !== undefined && (
        <Banner
          tone="warn"
          word={text.live}
          title={feed.gap === null ? text.gapUnknown : text.gap(format.integer(feed.gap))}
        />
      )}
      <div className={classes.columns}>
        <Card isFlush>
          {shown.length > 0 ? (
            <ul className={classes.events}>
              {shown.map((event) => (
                <li key={event.event_id}>
                  <Event event={event} isChosen={event.event_id === chosen} choose={setChosen} />
                </li>
              ))}
            </ul>
          ) : filters.length > 0 ? (
            <NothingMatches filters={filters} />
          ) : (
            <NothingYet />
          )}
        </Card>
        <div className={classes.detail} data-empty={detail === undefined || undefined}>
          <Card title={text.json}>
            {detail === undefined ? <p>{text.choose}</p> : <Detail event={detail} />}
          </Card>
        </div>
      </div>
    </Page>
  )
}

function NothingYet() {
  const text = useWords(words)
  const { sendTest } = useWords(emailWords)
  const { may } = useTenant()
  const mailers = useMailers()
  const [isTestOpen, setTestOpen] = useState(false)
  const send = may('sendEmail') && mailers.sending.length > 0 && (
    <Button onClick={() => setTestOpen(true)}>{sendTest}</Button>
  )
  return (
    <>
      <EmptyList title={text.nothing} action={send} snippets={streamSnippets()}>
        {text.nothingHelp}
      </EmptyList>
      <TestMail isOpen={isTestOpen} close={() => setTestOpen(false)} mailers={mailers} />
    </>
  )
}

/** What has come; while it is paused, what is shown stays as it is. */
function useFeed(isPaused: boolean) {
  const { tenantId } = useTenant()
  const [list, setList] = useState<EventList>(emptyList)
  const [held, setHeld] = useState<EventList>()
  const [state, setState] = useState<FeedState>('connecting')
  const [gap, setGap] = useState<number | null>()
  useEffect(() => {
    setList(emptyList)
    setGap(undefined)
    const gathered = gatherEvents((events) => setList((before) => addEvents(before, events)))
    const end = followEvents(tenantId, {
      onEvents: gathered.add,
      onGap: (count) =>
        setGap((before) => (count === null || before === null ? null : (before ?? 0) + count)),
      onState: setState,
    })
    return () => {
      end()
      gathered.stop()
    }
  }, [tenantId])
  const latest = useRef(list)
  latest.current = list
  useEffect(() => setHeld(isPaused ? latest.current : undefined), [isPaused])
  const shown = held ?? list
  const waiting =
    held === undefined ? 0 : list.events.filter(({ event_id }) => !held.ids.has(event_id)).length
  return { list: shown, waiting, state, gap }
}

function fits(event: ListedEvent, search: LiveSearch): boolean {
  if (search.event !== undefined && event.event !== search.event) return false
  return (
    search.email === undefined || recipientOf(event).toLowerCase() === search.email.toLowerCase()
  )
}

function useFilters(search: LiveSearch): readonly ActiveFilter[] {
  const text = useWords(words)
  const change = useSearchChange(search)
  return [
    ...(search.event === undefined
      ? []
      : [{ name: text.event, value: search.event, drop: () => change({ event: undefined }) }]),
    ...(search.email === undefined
      ? []
      : [{ name: text.recipient, value: search.email, drop: () => change({ email: undefined }) }]),
  ]
}

function Filters({ search }: { readonly search: LiveSearch }) {
  const text = useWords(words)
  const change = useSearchChange(search)
  return (
    <Row>
      <Select
        aria-label={text.event}
        placeholder={text.allEvents}
        clearable
        searchable
        data={[...eventNames]}
        value={search.event ?? null}
        onChange={(value) => change({ event: eventNames.find((one) => one === value) })}
      />
      <TextInput
        key={search.email}
        aria-label={text.recipient}
        placeholder={text.email}
        defaultValue={search.email ?? ''}
        onKeyDown={(event) => {
          if (event.key === 'Enter') change({ email: event.currentTarget.value.trim() })
        }}
      />
    </Row>
  )
}

const Event = memo(function Event(o: {
  readonly event: ListedEvent
  readonly isChosen: boolean
  readonly choose: (id: string) => void
}) {
  const { event } = o
  const [recipient, reason] = [recipientOf(event), textOf(event, 'failed_reason')]
  const at = textOf(event, 'event_at')
  return (
    <div className={classes.event} data-chosen={o.isChosen || undefined}>
      <button type="button" aria-pressed={o.isChosen} onClick={() => o.choose(event.event_id)}>
        <span className={classes.name}>
          <EventMark event={event} />
          {isTest(event) && <TestMark isQuiet />}
        </span>
        <span className={classes.recipient} title={recipient}>
          {breakable(recipient)}
        </span>
        <span className={classes.reason} title={reason}>
          {reason}
        </span>
      </button>
      {at !== '' && <Time at={at} />}
    </div>
  )
})

function Detail({ event }: { readonly event: ListedEvent }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const { event_id, ...sent } = event
  const refId = textOf(event, 'ref_id')
  return (
    <>
      <CodeBlock code={JSON.stringify(sent, null, 2)} label={event_id} />
      {refId !== '' && (
        <p>
          <Link to="/t/$tenantId/emails/$refId" params={{ tenantId, refId }}>
            {text.openEmail}
          </Link>
        </p>
      )}
    </>
  )
}
