"use strict";
// Shows notices of approvals, also while the page is closed. It fetches nothing.
self.addEventListener("push", e => {
  let notice = {};
  try { notice = e.data.json(); } catch { /* then without details */ }
  e.waitUntil(self.registration.showNotification(notice.text || "An agent waits for your decision", {
    body: notice.where || "", tag: notice.id || "approval", icon: "/static/icon-192.png", data: notice.id || "",
  }));
});
self.addEventListener("notificationclick", e => {
  e.notification.close();
  const to = new URL(e.notification.data ? "/a/" + encodeURIComponent(e.notification.data) : "/", self.location.origin).href;
  e.waitUntil(self.clients.matchAll({ type: "window", includeUncontrolled: true }).then(open => {
    const here = open.find(c => c.url === to);
    return here ? here.focus() : self.clients.openWindow(to);
  }));
});
