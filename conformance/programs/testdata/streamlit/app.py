# A page of Streamlit that asks people to sign in, as its documentation shows it.
import json

import streamlit as st

if not st.user.is_logged_in:
    if st.button("Log in"):
        st.login()
    st.stop()
if st.button("Log out"):
    st.logout()
st.text(json.dumps({key: st.user.get(key) for key in ("name", "email", "groups")}))
