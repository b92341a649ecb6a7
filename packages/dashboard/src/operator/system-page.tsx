/** System: processes, versions, storage, and the configuration without secrets. */
import type { GetSystemAnswer, SystemSetting } from '@postrider/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { AlertsCard } from '../alerts/alerts-card.tsx'
import { words as alertWords } from '../alerts/words.ts'
import { clientOf } from '../session/client.ts'
import { Answer } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Tabs, TextInput } from '../ui/controls.ts'
import { DataTable } from '../ui/data-table.tsx'
import { NothingMatches } from '../ui/filters.tsx'
import { Meter } from '../ui/meter.tsx'
import { Card, Fields, Page, Stack } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { systemTabs } from './operator-search.ts'
import { useSystem } from './use-system.ts'
import { words } from './words.ts'

type System = GetSystemAnswer['system']

export function SystemPage() {
  const text = useWords(words)
  const query = useSystem()
  const { tab = 'processes' } = useSearch({ from: '/shell/operator/system' })
  const navigate = useNavigate({ from: '/operator/system' })
  const choose = (value: string | null) => {
    const chosen = systemTabs.find((one) => one === value)
    void navigate({ search: chosen === undefined || chosen === 'processes' ? {} : { tab: chosen } })
  }
  return (
    <Page title={text.system} lead={text.systemLead}>
      <Tabs value={tab} onChange={choose} keepMounted={false}>
        <Tabs.List aria-label={text.system}>
          {systemTabs.map((value) => (
            <Tabs.Tab key={value} value={value}>
              {text.tabs[value]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} pt={20}>
          <Answer query={query}>
            {({ system }) => (
              <Stack>
                {tab === 'processes' && <Processes processes={system.processes} />}
                {tab === 'storage' && <Storage database={system.database} tables={system.tables} />}
                {tab === 'alerts' && <OperatorAlerts />}
                {tab === 'configuration' && <Configuration settings={system.configuration} />}
              </Stack>
            )}
          </Answer>
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}

function OperatorAlerts() {
  const text = useWords(alertWords)
  const client = clientOf()
  return (
    <AlertsCard
      source={{
        queryKey: ['operator', 'alerts'],
        note: text.operatorNote,
        get: (signal) => client.getOperatorAlerts({ signal }),
        set: (body) => client.setOperatorAlerts(body),
        remove: () => client.deleteOperatorAlerts(),
        operations: { set: 'setOperatorAlerts', remove: 'deleteOperatorAlerts' },
      }}
    />
  )
}

function Processes({ processes }: Pick<System, 'processes'>) {
  const text = useWords(words)
  const isMixed = new Set(processes.map(({ version, commit }) => `${version} ${commit}`)).size > 1
  return (
    <>
      {isMixed && (
        <Banner tone="warn" word={text.note} title={text.versionsDiffer}>
          {text.versionsDifferHelp}
        </Banner>
      )}
      <Card title={text.processes} note={text.processesNote} isFlush>
        <DataTable
          label={text.processes}
          rows={processes}
          rowKey={({ process_id }) => process_id}
          columns={[
            {
              key: 'host',
              head: text.host,
              isTitle: true,
              cell: ({ host, process_id }) => <span title={process_id}>{host}</span>,
            },
            {
              key: 'roles',
              head: text.roles,
              width: 'minmax(0, 2fr)',
              cell: ({ roles }) => <span title={roles.join(', ')}>{roles.join(', ')}</span>,
            },
            {
              key: 'version',
              head: text.version,
              cell: ({ version, commit }) => (
                <code title={commit}>
                  {version} {commit.slice(0, 8)}
                </code>
              ),
            },
            {
              key: 'node',
              head: text.node,
              width: '96px',
              cell: ({ node }) => <code>{node}</code>,
            },
            {
              key: 'started',
              head: text.started,
              width: '130px',
              cell: ({ started_at }) => <Time at={started_at} />,
            },
            {
              key: 'seen',
              head: text.seen,
              width: '130px',
              cell: ({ seen_at }) => <Time at={seen_at} />,
            },
          ]}
        />
      </Card>
    </>
  )
}

function Storage({ database, tables }: Pick<System, 'database' | 'tables'>) {
  const text = useWords(words)
  const format = useFormat()
  return (
    <>
      <Card title={text.database}>
        <Fields
          entries={[
            [text.postgres, <code key="v">{database.version}</code>],
            [text.isEmbedded, database.is_embedded ? text.embedded : text.external],
            [text.size, format.bytes(database.bytes)],
          ]}
        />
      </Card>
      <Card title={text.tables} note={text.tablesNote} isFlush>
        <DataTable
          label={text.tables}
          rows={tables}
          rowKey={({ name }) => name}
          columns={[
            {
              key: 'name',
              head: text.table,
              width: 'minmax(0, 1.4fr)',
              isTitle: true,
              cell: ({ name }) => <code>{name}</code>,
            },
            {
              key: 'share',
              head: text.share,
              cell: ({ bytes }) => (
                <Meter label={text.share} share={bytes / Math.max(1, database.bytes)} tone="info" />
              ),
            },
            {
              key: 'size',
              head: text.size,
              width: '110px',
              align: 'end',
              cell: ({ bytes }) => format.bytes(bytes),
            },
            {
              key: 'rows',
              head: text.rows,
              width: '110px',
              align: 'end',
              cell: ({ rows }) => format.integer(rows),
            },
          ]}
        />
      </Card>
    </>
  )
}

function Configuration({ settings }: { readonly settings: readonly SystemSetting[] }) {
  const text = useWords(words)
  const { find } = useSearch({ from: '/shell/operator/system' })
  const navigate = useNavigate({ from: '/operator/system' })
  const part = (find ?? '').trim().toLowerCase()
  const shown = settings.filter(({ name, value }) =>
    `${name} ${value ?? ''}`.toLowerCase().includes(part),
  )
  const look = (typed: string) =>
    void navigate({
      search: typed === '' ? {} : { find: typed },
      replace: true,
      resetScroll: false,
    })
  return (
    <Card
      title={text.configuration}
      note={text.configurationNote}
      isFlush
      actions={
        <TextInput
          type="search"
          aria-label={text.findVariable}
          placeholder={text.findVariable}
          value={find ?? ''}
          onChange={(event) => look(event.currentTarget.value)}
        />
      }
    >
      {shown.length === 0 ? (
        <NothingMatches
          filters={[{ name: text.variable, value: find ?? '', drop: () => look('') }]}
        />
      ) : (
        <DataTable
          label={text.configuration}
          rows={shown}
          rowKey={({ name }) => name}
          columns={[
            {
              key: 'name',
              head: text.variable,
              isTitle: true,
              cell: ({ name }) => <code title={name}>{name}</code>,
            },
            { key: 'value', head: text.value, cell: (one) => <Value setting={one} /> },
          ]}
        />
      )}
    </Card>
  )
}

function Value({ setting }: { readonly setting: SystemSetting }) {
  const text = useWords(words)
  const { value, is_set: isSet, is_generated: isGenerated, is_shown: isShown } = setting
  if (!isSet) return <StateMark tone="muted">{text.notSet}</StateMark>
  if (!isShown)
    return <StateMark tone="info">{isGenerated ? text.generated : text.hidden}</StateMark>
  return value === '' ? text.emptyValue : <code title={value ?? ''}>{value}</code>
}
