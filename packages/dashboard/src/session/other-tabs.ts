/** Tabs of a browser share its session: one that learns of a change has the others ask again who is logged in. */
const channel = new BroadcastChannel('postrider.session')

export function tellOtherTabs(): void {
  channel.postMessage('changed')
}

export function onToldByAnotherTab(listener: () => void): void {
  channel.onmessage = listener
}
