/**
 * A relay that sends nothing (docs/reference/domains.md#simulator): it takes a mail, or refuses it, and
 * reports what became of it, as its recipient's address says. For trying everything that follows a send,
 * without a provider, without DNS, and without anybody getting mail.
 *
 * The same mail has the same ids, so a send that is repeated reports nothing new. Its reports come
 * from within: over the network nobody is authentic.
 */

import { mailRefName, writeMailRef } from '../callbacks/mail-ref.ts'
import { relayFailure } from '../failure.ts'
import type { RelayMail, RelaySimulation, RelaySimulator } from '../relay.ts'
import { readFacts, type SimulatedReport } from './report.ts'
import { laterReports, type ScenarioReport, scenarioOf } from './scenarios.ts'

export const simulator: RelaySimulator = {
  kind: 'simulator',
  simulate,
  callbacks: { isAuthentic: () => false, read: readFacts },
}

function simulate(mail: RelayMail, nowMs: number): RelaySimulation {
  const scenario = scenarioOf(mail.to.address)
  if ('refused' in scenario) {
    const { category, retryable, status, words } = scenario.refused
    const answer = { status, headers: {}, body: words }
    return {
      outcome: { kind: 'failed', failure: relayFailure(category, { retryable, words, answer }) },
    }
  }
  const reports = scenario.reports.map((report, i) => toReport(mail, report, nowMs, i))
  return {
    outcome: { kind: 'accepted', providerMessageId: messageIdOf(mail) },
    callback: JSON.stringify(reports),
  }
}

/**
 * A callback about a mail that was delivered before. A report with an id of before is nothing new.
 *
 * @param at.id unlike that of any other report about the mail
 */
export function reportLater(
  copy: Pick<RelayMail, 'refId' | 'n'> & { readonly email: string },
  event: keyof typeof laterReports,
  at: { readonly nowMs: number; readonly id: string },
): string {
  const messageId = messageIdOf(copy)
  const report: SimulatedReport = {
    id: `${messageId}-${at.id}`,
    time: new Date(at.nowMs).toISOString(),
    message_id: messageId,
    email: copy.email,
    [mailRefName]: writeMailRef(copy),
    ...laterReports[event],
  }
  return JSON.stringify([report])
}

function messageIdOf(mail: Pick<RelayMail, 'refId' | 'n'>): string {
  return `sim-${writeMailRef(mail)}`
}

/** Each a millisecond after the one before: none of them is to seem the earlier one. */
function toReport(
  mail: RelayMail,
  report: ScenarioReport,
  nowMs: number,
  i: number,
): SimulatedReport {
  const messageId = messageIdOf(mail)
  return {
    id: `${messageId}-${i + 1}`,
    time: new Date(nowMs + i).toISOString(),
    message_id: messageId,
    email: mail.to.address,
    [mailRefName]: writeMailRef(mail),
    ...report,
  }
}
